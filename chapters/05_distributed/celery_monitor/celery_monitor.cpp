// Celery monitor
//
// `celery inspect` and monitors such as Flower ask workers questions, and listen to what they tell of their tasks. This
// program asks two workers the same: one executes its tasks itself, the other has a process for them. It asks first
// when they have no task, then while each of them has a long one, and prints each answer and how long it took. With
// --celery it lets Celery's own command ask, too.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_monitor/celery_monitor.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_monitor
// Run:     celery_monitor [--timeout-ms N] [--celery]

#include <chrono>
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

/// A worker that executes its tasks itself. So it reads a question only between two tasks.
void work_alone(const std::string& url, const celery::Registry& registry) {
  amqp::Connection broker(url);
  celery::declare_task_queue(broker, "alone");
  broker.prefetch(1);
  broker.consume("alone");

  bool stopping = false;
  celery::RemoteControl control("alone@here");
  control.on("ping", [](const json::value&) { return celery::ok("pong"); });
  control.on("active", [](const json::value&) { return json::array(); });  // while it answers, no task runs
  control.on("shutdown", [&](const json::value&) {
    stopping = true;
    return celery::ok("shutting down");
  });
  control.listen(broker);  // to the questions, in a queue of its own
  control.task_events = true;
  control.tell("worker-online", {});

  while (!stopping) {
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

  using Answers = celery::Inspector::Answers;
  const std::vector<std::string> one = {"pool@here"}, both = {"pool@here", "alone@here"};
  cookbook::println("{:<12}{:>9}  {:<20}{:>9}", "question", "pool@here", "", "alone@here");
  const auto show = [](const std::string& question, const Answers& answers, const std::vector<std::string>& asked) {
    std::string line = fmt::format("{:<12}", question);
    for (const std::string& worker : asked) {
      const auto found = answers.find(worker);
      line += found == answers.end()
                  ? fmt::format("{:>9}  {:<20}", "none", "")
                  : fmt::format("{:>6.1f} ms  {:<20}", found->second.ms, in_short(found->second.value));
    }
    cookbook::println("{}", line.substr(0, 1 + line.find_last_not_of(' ')));
  };

  celery::Inspector inspector(broker.url(), std::chrono::milliseconds(timeout_ms));
  show("ping", inspector.ask("ping"), both);
  inspector.ask("enable_events", one);
  const celery::Client::Handle own = client.apply_async("addTask.nap", {celery ? 10 : 2}, {}, {.queue = "alone"});
  const celery::Client::Handle nap = client.delay("addTask.nap", 60);    // the only process of the pool sleeps,
  const celery::Client::Handle sum = client.delay("addTask.add", 5, 5);  // and this task has to wait
  listener.wait_for("task-started", own.id());
  listener.wait_for("task-started", nap.id());
  listener.wait_for("task-received", sum.id());
  cookbook::println("each worker sleeps: alone@here for {} s, pool@here's process for a minute", celery ? 10 : 2);
  if (celery) let_celery_ask(broker.url(), "ping");
  show("ping", inspector.ask("ping"), both);
  show("active", inspector.ask("active", both), both);
  show("reserved", inspector.ask("reserved", one), one);
  show("revoke", inspector.ask("revoke", one, {{"task_id", nap.id()}, {"terminate", true}}), one);
  cookbook::println("answers that came too late for their question: {}", inspector.late);
  listener.wait_for("task-succeeded", sum.id());
  cookbook::println("events of the task that had to wait: {}", fmt::join(listener.types_about(sum.id()), ", "));

  cookbook::Checks checks;
  checks.equal("the task that was revoked", outcome(nap), "TaskRevokedError: terminated");
  checks.equal("the task that had to wait", outcome(sum), "10");
  inspector.ask("shutdown", both);
  checks.equal("the workers' exit codes after shutdown",
               std::vector{cookbook::exit_code_of(pool), cookbook::exit_code_of(alone)}, {0, 0});
  return checks.exit_code();
}
