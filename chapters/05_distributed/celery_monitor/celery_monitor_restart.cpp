// Pitfall: a supervisor that restarts a silent worker
//
// A worker that executes its tasks itself is in the middle of a payment. A supervisor asks it `ping`, gets no answer
// within half a second, kills the worker and starts another. The task was not acknowledged yet, so the broker gives it
// to the new worker, and the customer pays twice.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_monitor/celery_monitor_restart.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_monitor_restart
// Run:     celery_monitor_restart
// Symptom: exit 1, prints "payments: 2"

#include <chrono>
#include <csignal>
#include <thread>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/process.hpp"
#include "inspector.hpp"
#include "solo_worker.hpp"

namespace {

using namespace std::chrono_literals;

/// Whether the supervisor has to start the worker again.
bool is_dead(celery::Inspector& inspector) {
  return !inspector.ask("ping").contains("alone@here");  // wrong: it may be in the middle of a task
}

/// The task: makes a payment, which is a message in the queue `payments` here, and waits for the receipt.
celery::json::value pay(const std::string& url) {
  amqp::Connection bank(url);
  bank.publish("", "payments", {.body = "10 euros"});
  bank.confirm();
  std::this_thread::sleep_for(2s);
  return "receipt";
}

}  // namespace

int main() {
  const Broker broker;
  celery::Registry registry;
  registry.add("pay", [&](const celery::Task&) { return pay(broker.url()); });
  const auto start_worker = [&] { return cookbook::start_child([&] { work_alone(broker.url(), registry); }); };
  pid_t worker = start_worker();

  amqp::Connection bank(broker.url());
  bank.declare_queue("payments");
  celery::declare_task_queue(bank, "alone");
  celery::Client client(broker.url());
  celery::Client::Handle payment = client.apply_async("pay", {}, {}, {.queue = "alone"});
  while (bank.waiting("payments") == 0) std::this_thread::sleep_for(1ms);

  celery::Inspector inspector(broker.url(), 500ms);
  if (is_dead(inspector)) {
    cookbook::println("alone@here is silent: the supervisor kills it and starts another");
    kill(worker, SIGKILL);
    cookbook::exit_code_of(worker);
    worker = start_worker();
  }
  payment.get(20s);
  kill(worker, SIGKILL);
  cookbook::exit_code_of(worker);
  cookbook::println("payments: {}", bank.waiting("payments"));
  return bank.waiting("payments") == 1 ? 0 : 1;
}
