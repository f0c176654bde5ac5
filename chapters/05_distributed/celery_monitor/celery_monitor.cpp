// Celery monitor
//
// Which workers are there? `celery inspect ping` asks all of them, and monitors such as Flower do the same. This
// program asks two workers so: one executes its tasks itself, the other has a process for them. It asks when they have
// no task, while each of them has a long one, and when one has been killed. It prints each answer and how long it took,
// and whether the broker is still connected with the worker, by which one tells a silent worker from a dead one.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_monitor/celery_monitor.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_monitor
// Run:     celery_monitor [--timeout-ms N]

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
#include "solo_worker.hpp"

namespace {

namespace json = celery::json;

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

void print_whether_connected(const celery::Inspector& inspector) {
  const auto shown = [&](const std::string& worker) {
    return inspector.is_connected(worker) ? "connected" : "not connected";
  };
  cookbook::println("{:<15}{:<29}{}", "at the broker", shown(both[0]), shown(both[1]));
}

}  // namespace

int main(int argc, char** argv) {
  int timeout_ms = 1000;
  cookbook::Options options("Ask workers of Celery whether they are there, while they are busy");
  options.add("timeout-ms", timeout_ms, "time for which answers are collected when all workers are asked", 10, 10'000);
  options.parse(argc, argv);

  const Broker broker;
  celery::Client client(broker.url());
  celery::Listener listener(broker.url());
  const celery::Registry registry = celery::registered_tasks("addTask");  // add, nap and others
  const pid_t alone = cookbook::start_child([&] { work_alone(broker.url(), registry); });
  const pid_t pool = cookbook::start_child([&] {
    celery::Worker({.url = broker.url(), .node = "pool@here", .concurrency = 1, .quiet = true}, registry).run();
  });
  for (const std::string& worker : both) listener.wait_for("worker-online", worker);

  cookbook::println("{:<15}{:<29}{}", "", "pool@here: tasks in a child", "alone@here: tasks in itself");
  celery::Inspector inspector(broker.url(), std::chrono::milliseconds(timeout_ms));
  const std::string none = fmt::format("no answer in {} ms", timeout_ms);
  print_row("ping, idle", inspector.ask("ping"), none);

  inspector.ask("enable_events", {"pool@here"});
  celery::Client::Handle of_pool = client.delay("addTask.nap", 2);
  celery::Client::Handle of_alone = client.apply_async("addTask.nap", {2}, {}, {.queue = "alone"});
  for (const auto& task : {of_pool, of_alone}) listener.wait_for("task-started", task.id());
  cookbook::println("each worker gets a task that sleeps for 2 s");
  print_row("ping, busy", inspector.ask("ping"), none);
  print_whether_connected(inspector);
  print_row("active", inspector.ask("active", both), none);
  if (!inspector.late.empty()) print_row("ping, too late", inspector.late, "");
  of_pool.get();
  of_alone.get();

  kill(alone, SIGKILL);
  cookbook::exit_code_of(alone);
  cookbook::println("alone@here is killed");
  print_row("ping", inspector.ask("ping"), none);
  print_whether_connected(inspector);
  inspector.ask("shutdown", {"pool@here"});
  cookbook::exit_code_of(pool);

  cookbook::Checks checks;
  checks.equal("the states of the two tasks", std::vector{of_pool.state(), of_alone.state()}, {"SUCCESS", "SUCCESS"});
  return checks.exit_code();
}
