// Celery monitor
//
// Does a worker answer while it executes a task? `celery inspect` and monitors such as Flower ask workers what they do.
// This program asks two workers the same: one executes its tasks itself, the other has a process for them. It asks when
// they have no task, while each of them has a long one, and when one has been killed. It prints each answer and how
// long it took, and how many consumers the worker's queue has, by which one tells a silent worker from a dead one. With
// --celery it lets Celery's own command ask, too.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_monitor/celery_monitor.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_monitor
// Run:     celery_monitor [--timeout-ms N] [--celery]

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "celery/tasks.hpp"
#include "celery/worker.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "inspector.hpp"

namespace {

namespace json = celery::json;

/// A worker that executes its tasks itself. So it reads a question only between two tasks. It works until it is killed.
void work_alone(const std::string& url, const celery::Registry& registry) {
  amqp::Connection broker(url);
  celery::declare_task_queue(broker, "alone");
  broker.prefetch(1);
  broker.consume("alone");

  celery::RemoteControl control("alone@here");
  control.on("ping", [](const json::value&) { return celery::ok("pong"); });
  control.on("active", [](const json::value&) { return json::array(); });  // while it answers, no task runs
  control.listen(broker);                                                  // to the questions, in a queue of its own
  control.task_events = true;
  control.tell("worker-online", {});

  while (true) {
    const auto message = broker.next(std::chrono::seconds(1));
    if (!message) continue;
    if (message->queue == control.queue()) {
      control.answer(*message);
    } else {
      const celery::Task task = celery::read_task(*message);
      control.tell_of_task("task-started", task);
      celery::publish_result(broker, task, {"SUCCESS", registry.at(task.name)(task)});  // executes it
      broker.confirm();
      broker.acknowledge(*message);
    }
  }
}

/// A list of tasks by their names; any other answer as it is.
std::string in_short(const json::value& answer) {
  if (!answer.is_array()) return json::serialize(answer);
  std::vector<std::string> names;
  for (const json::value& task : answer.get_array()) names.emplace_back(task.at("name").as_string());
  return names.empty() ? "no task" : fmt::format("{}", fmt::join(names, " "));
}

const std::vector<std::string> both = {"pool@here", "alone@here"};

/// A row: what each of the two workers has answered and when, or `if_none`.
void print_row(const std::string& question, const celery::Inspector::Answers& answers, const std::string& if_none) {
  std::string line = fmt::format("{:<15}", question);
  for (const std::string& worker : both) {
    const auto found = answers.find(worker);
    line += fmt::format("{:<29}", found == answers.end()
                                      ? if_none
                                      : fmt::format("{:6.1f} ms  {}", found->second.ms, in_short(found->second.value)));
  }
  cookbook::println("{}", line.substr(0, 1 + line.find_last_not_of(' ')));
}

/// Runs `celery inspect QUESTION`. Ends the program with exit code 77 if Celery is not installed.
void let_celery_ask(const std::string& url, const std::string& question) {
  if (std::system("/usr/bin/python3 -c 'import celery' 2>/dev/null") != 0) {
    cookbook::print_error("skipped: Celery is not installed (package python3-celery)");
    std::exit(77);
  }
  std::fflush(stdout);
  const std::string command = "/usr/bin/python3 -W ignore -m celery --broker " + url + " inspect " + question;
  if (std::system(command.c_str()) != 0) throw amqp::Error("celery inspect " + question + " has failed");
}

}  // namespace

int main(int argc, char** argv) {
  int timeout_ms = 1000;
  bool celery = false;
  cookbook::Options options("Ask workers of Celery what they do while they are busy");
  options.add("timeout-ms", timeout_ms, "time for which answers are collected when all workers are asked", 10, 10'000);
  options.add_flag("celery", celery, "let `celery inspect` ask, too");
  options.parse(argc, argv);

  const Broker broker;
  celery::Client client(broker.url());
  celery::Listener listener(broker.url());
  const celery::Registry registry = celery::registered_tasks("addTask");  // add, nap and others
  const pid_t alone = cookbook::start_child([&] { work_alone(broker.url(), registry); });
  const pid_t pool = cookbook::start_child([&] {
    celery::Worker({.url = broker.url(), .node = "pool@here", .concurrency = 1, .quiet = true}, registry).run();
  });
  listener.wait_for("worker-online", "alone@here");
  listener.wait_for("worker-online", "pool@here");

  const std::vector<std::string> pools = {"pool@here"};
  cookbook::println("{:<15}{:<29}{}", "", "pool@here: tasks in a child", "alone@here: tasks in itself");

  amqp::Connection at_broker(broker.url());
  const auto print_consumers = [&] {
    cookbook::println("{:<15}{:<29}{}", "consumers", at_broker.consumers("celery"), at_broker.consumers("alone"));
  };

  celery::Inspector inspector(broker.url(), std::chrono::milliseconds(timeout_ms));
  const std::string none = fmt::format("no answer in {} ms", timeout_ms);
  print_row("ping, idle", inspector.ask("ping"), none);

  inspector.ask("enable_events", pools);
  const int nap_s = celery ? 10 : 2;
  const celery::Client::Handle of_pool = client.delay("addTask.nap", nap_s);
  const celery::Client::Handle of_alone = client.apply_async("addTask.nap", {nap_s}, {}, {.queue = "alone"});
  for (const auto& task : {of_pool, of_alone}) listener.wait_for("task-started", task.id());
  cookbook::println("each worker gets a task that sleeps for {} s", nap_s);
  if (celery) let_celery_ask(broker.url(), "ping");
  print_row("ping, busy", inspector.ask("ping"), none);
  print_consumers();
  print_row("active", inspector.ask("active", both), none);
  if (!inspector.late.empty()) print_row("ping, too late", inspector.late, "");

  const auto state_of = [](celery::Client::Handle task) {
    task.get();
    return task.state();
  };
  const std::vector states = {state_of(of_pool), state_of(of_alone)};

  kill(alone, SIGKILL);
  const int killed = cookbook::exit_code_of(alone);
  cookbook::println("alone@here is killed");
  print_row("ping", inspector.ask("ping"), none);
  print_consumers();
  inspector.ask("shutdown", pools);

  cookbook::Checks checks;
  checks.equal("the states of the two tasks", states, {"SUCCESS", "SUCCESS"});
  checks.equal("the workers' exit codes after SIGKILL and after the command shutdown",
               std::vector{killed, cookbook::exit_code_of(pool)}, {-SIGKILL, 0});
  return checks.exit_code();
}
