// Task queue
//
// A client posts tasks to a message broker and goes on; workers, other processes, take them from there, execute them
// and send the results back. The program kills a worker that has taken its first task, and starts others. It does so
// twice: with tasks that are acknowledged when they are sent to a worker, and with tasks that are acknowledged when
// they are done. Which of them get a result?
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/task_queue/task_queue.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -pthread -o task_queue
// Run:     task_queue [--tasks N] [--workers N]

#include <csignal>
#include <string>
#include <vector>

#include "broker.hpp"
#include "client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

/// What becomes of tasks whose first worker is killed.
struct Counts {
  unsigned posted = 0;  ///< tasks that wait at the broker when there is no worker yet,
  unsigned left = 0;    ///< and when the first worker has been killed
  int results = 0;      ///< that the client gets after all
};

Counts run_with(const std::string& url, amqp::Acknowledgement acknowledgement, int tasks, int workers) {
  Counts counts;
  amqp::Connection connection(url);
  Client client(url);
  std::vector<std::string> ids;
  for (int i = 0; i < tasks; ++i) ids.push_back(client.post("add 5 5"));
  counts.posted = connection.waiting(tasks_queue);

  const auto kill_this_worker = [](const amqp::Delivery&) { std::raise(SIGKILL); };  // stands for a crash
  cookbook::exit_code_of(cookbook::start_child([&] { work(url, kill_this_worker, acknowledgement); }));
  while (connection.consumers(tasks_queue) > 0) continue;  // until the broker has noticed it
  counts.left = connection.waiting(tasks_queue);

  std::vector<pid_t> others;
  const auto do_nothing = [](const amqp::Delivery&) {};
  for (int i = 0; i < workers; ++i) {
    others.push_back(cookbook::start_child([&] { work(url, do_nothing, acknowledgement); }));
  }
  while (connection.consumers(tasks_queue) < unsigned(workers)) continue;  // so no result is missing for want of them
  std::chrono::milliseconds timeout(acknowledgement == amqp::Acknowledgement::manual ? 20'000 : 300);
  for (const std::string& id : ids) {
    try {
      counts.results += client.result(id, timeout) == "10";
    } catch (const std::runtime_error&) {  // none in time; the others have come by now, if there are any
      timeout = std::chrono::milliseconds(0);
    }
  }
  for (const pid_t worker : others) kill(worker, SIGTERM);
  for (const pid_t worker : others) cookbook::exit_code_of(worker);
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 4, workers = 2;
  cookbook::Options options("Hand tasks to workers through a message broker");
  options.add("tasks", tasks, "tasks that are posted before there is a worker", 1, 100);
  options.add("workers", workers, "workers that take over from the first one", 1, 16);
  options.parse(argc, argv);

  const Broker broker;  // RabbitMQ, started here and ended with this program
  amqp::Connection connection(broker.url());
  declare_queues(connection);
  const Counts early = run_with(broker.url(), amqp::Acknowledgement::automatic, tasks, workers);
  const Counts late = run_with(broker.url(), amqp::Acknowledgement::manual, tasks, workers);

  cookbook::println("{:<38}{:>20}{:>24}", "the broker forgets a task", "when it has sent it", "when a worker says so");
  cookbook::println("{:<38}{:>20}{:>24}", "at the broker, without a worker", early.posted, late.posted);
  cookbook::println("{:<38}{:>20}{:>24}", "when the first worker has been killed", early.left, late.left);
  cookbook::println("{:<38}{:>20}{:>24}", "results that the client gets", early.results, late.results);

  cookbook::Checks checks;
  checks.equal("tasks with a result, acknowledged when they are done", late.results, tasks);
  return checks.exit_code();
}
