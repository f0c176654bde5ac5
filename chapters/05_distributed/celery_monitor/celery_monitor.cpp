// Celery monitor
//
// `celery inspect` and monitors such as Flower ask a worker questions, and listen to what it tells of its tasks. This
// program does the same to a worker in C++, first without a task, then while its process is busy with a long one. It
// prints each question, how long the answer took, and the events of one task. With --celery it lets Celery's own
// command ask, too.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_monitor/celery_monitor.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_monitor
// Run:     celery_monitor [--celery]

#include <chrono>
#include <string>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "celery/tasks.hpp"
#include "celery/worker.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"

namespace {

namespace json = celery::json;

/// Asks the workers of a broker, as `celery inspect` and `celery control` do. The exchange celery.pidbox copies a
/// question into a queue of each worker. The question names an exchange and a key, by which the answers come back.
class Inspector {
 public:
  explicit Inspector(const std::string& url) : broker_(url), answers_(broker_.declare_queue("", {.exclusive = true})) {
    broker_.declare_exchange("reply.celery.pidbox", "direct", /*durable=*/false);
    broker_.bind(answers_, "reply.celery.pidbox", answers_);
    broker_.consume(answers_, amqp::Acknowledgement::automatic);
  }

  /// The answer of the only worker there is. Throws amqp::Error if none comes.
  json::value ask(const std::string& method, const json::object& arguments = {}) {
    const json::object reply_to = {{"exchange", "reply.celery.pidbox"}, {"routing_key", answers_}};
    const json::object question = {{"method", method}, {"arguments", arguments}, {"reply_to", reply_to}};
    broker_.publish("celery.pidbox", "",
                    {.body = json::serialize(question), .content_type = "application/json", .persistent = false});
    const auto answer = broker_.next(std::chrono::seconds(20));
    if (!answer) throw amqp::Error("no worker answers the question " + method);
    return celery::parsed_body(*answer).as_object().begin()->value();  // {"cpp@here": value}
  }

 private:
  amqp::Connection broker_;
  std::string answers_;
};

/// Gets a copy of all events, as a monitor does.
class Listener {
 public:
  explicit Listener(const std::string& url) : broker_(url), events_(broker_.declare_queue("", {.exclusive = true})) {
    broker_.declare_exchange("celeryev", "topic", /*durable=*/true);
    broker_.bind(events_, "celeryev", "#");  // # stands for every key, such as task.started
    broker_.consume(events_, amqp::Acknowledgement::automatic);
  }

  /// The types of the events of a task, up to its end.
  std::vector<std::string> events_of(const celery::Client::Handle& task) {
    std::vector<std::string> types;
    while (types.empty() || types.back() != "task-succeeded") {
      const auto message = broker_.next(std::chrono::seconds(20));
      if (!message) throw amqp::Error("no more events");
      const json::value event = celery::parsed_body(*message);
      if (celery::member(event, "uuid") == json::value(task.id())) types.emplace_back(event.at("type").as_string());
    }
    return types;
  }

 private:
  amqp::Connection broker_;
  std::string events_;
};

/// A list of tasks by their names; any other answer as it is.
std::string in_short(const json::value& answer) {
  if (!answer.is_array()) return json::serialize(answer);
  std::string names;
  for (const json::value& task : answer.get_array()) names += std::string(task.at("name").as_string()) + ' ';
  return names.empty() ? "nothing" : names;
}

/// Runs `celery inspect QUESTION`. Ends the program with exit code 77 if Celery is not installed.
void let_celery_ask(const std::string& url, const std::string& question) {
  const std::string python = "/usr/bin/python3 -W ignore -m celery --broker " + url + " inspect ";
  if (std::system("/usr/bin/python3 -c 'import celery' 2>/dev/null") != 0) {
    cookbook::print_error("skipped: Celery is not installed (package python3-celery)");
    std::exit(77);
  }
  std::fflush(stdout);
  if (std::system((python + question).c_str()) != 0) throw amqp::Error("celery inspect " + question + " has failed");
}

}  // namespace

int main(int argc, char** argv) {
  bool celery = false;
  cookbook::Options options("Ask a worker of Celery what it does while it is busy");
  options.add_flag("celery", celery, "let `celery inspect` ask, too");
  options.parse(argc, argv);

  const Broker broker;
  celery::Client client(broker.url());
  const pid_t worker = cookbook::start_child([&] {
    const celery::Registry registry = celery::registered_tasks("addTask");  // add, nap and others
    celery::Worker({.url = broker.url(), .node = "cpp@here", .concurrency = 1, .quiet = true}, registry).run();
  });
  Inspector inspector(broker.url());
  Listener listener(broker.url());
  while (amqp::Connection(broker.url()).consumers("celery") == 0) continue;  // until the worker is there

  cookbook::println("{:<16}{:>9}  answer", "question", "after");
  const auto show = [&](const std::string& method, const json::object& arguments = {}) {
    const cookbook::Stopwatch watch;
    const json::value answer = inspector.ask(method, arguments);
    cookbook::println("{:<16}{:>6.1f} ms  {}", method, 1e3 * watch.seconds(), in_short(answer));
  };
  show("ping");
  show("enable_events");
  const celery::Client::Handle nap = client.delay("addTask.nap", 60);    // the only process sleeps for a minute,
  const celery::Client::Handle sum = client.delay("addTask.add", 5, 5);  // and this task has to wait
  while (inspector.ask("reserved").as_array().empty()) continue;         // tasks and questions come by different queues
  show("active");
  show("reserved");
  if (celery) let_celery_ask(broker.url(), "registered");
  show("revoke", {{"task_id", nap.id()}, {"terminate", true}});
  cookbook::println("events of the task that had to wait: {}", fmt::join(listener.events_of(sum), ", "));

  cookbook::Checks checks;
  checks.equal("the task that was revoked", outcome(nap), "TaskRevokedError: terminated");
  checks.equal("the task that had to wait", outcome(sum), "10");
  inspector.ask("shutdown");
  checks.equal("the worker's exit code after shutdown", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
