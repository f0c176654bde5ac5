// Celery control
//
// A worker that only executes tasks cannot be asked what it does, and cannot stop a task that runs too long. This one
// consists of several processes: one talks to the broker and never waits for a task to end; the others execute the
// tasks, and can be killed. So it answers questions, cancels tasks, enforces time limits, holds tasks until their time
// has come, and tries again what has failed. celery_control_start is the worker alone, for Python's clients and tools.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_control/celery_control.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_control
// Run:     celery_control [--concurrency N]

#include <chrono>
#include <string>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "tasks.hpp"
#include "worker.hpp"

namespace {

namespace json = celery::json;

/// Asks workers questions, as `celery inspect` and `celery control` do. A question names an exchange and a key, by
/// which the answers come to a queue of the inspector's own.
class Inspector {
 public:
  explicit Inspector(const std::string& url) : broker_(url), answers_(broker_.declare_queue("", {.exclusive = true})) {
    broker_.declare_exchange("reply.celery.pidbox", "direct", /*durable=*/false);
    broker_.bind(answers_, "reply.celery.pidbox", answers_);
    broker_.consume(answers_, amqp::Acknowledgement::automatic);
  }

  /// Asks the only worker there is, and returns its answer. Throws amqp::Error if none comes.
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

}  // namespace

int main(int argc, char** argv) {
  int concurrency = 2;
  cookbook::Options options("Ask a worker of Celery what it does, and stop its tasks");
  options.add("concurrency", concurrency, "processes that execute tasks", 1, 64);
  options.parse(argc, argv);

  const Broker broker;
  celery::Client client(broker.url());
  const pid_t worker = cookbook::start_child([&] {
    const celery::Registry registry = celery::registered_tasks("addTask");  // tasks.hpp: add, divide, nap and others
    const celery::Settings settings{.url = broker.url(), .node = "cpp@here", .concurrency = concurrency, .quiet = true};
    celery::Worker(settings, registry).run();
  });
  cookbook::Checks checks;
  checks.equal("fails twice; number of retries", outcome(client.delay("addTask.flaky", 2)), "2");
  checks.equal("expires before its countdown ends",
               outcome(client.apply_async("addTask.add", {5, 5}, {}, {.countdown = 0.1, .expires = 0.05})),
               "TaskRevokedError: expired");
  checks.equal("takes too long", outcome(client.apply_async("addTask.nap", {60}, {}, {.time_limit = 0.1})),
               "TimeLimitExceeded: 0.1");
  checks.equal("crashes", outcome(client.delay("addTask.crash")),
               "WorkerLostError: the process that executed the task has ended");
  checks.equal("a chain: add(1, 2), then 3 more",
               outcome(client.chain({{"addTask.add", {1, 2}}, {"addTask.add", {3}}})), "6");

  // Every process gets a task of a minute, and one more task has to wait.
  std::vector<celery::Client::Handle> naps;
  for (int i = 0; i < concurrency; ++i) naps.push_back(client.delay("addTask.nap", 60));
  const celery::Client::Handle sum = client.delay("addTask.add", 5, 5);
  Inspector inspector(broker.url());
  const auto only_the_sum = [&](const json::array& tasks) {
    return tasks.size() == 1 && tasks[0].at("id") == json::value(sum.id());
  };
  // Tasks and questions come to the worker by different queues, so ask until it has received all tasks and has started
  // the naps. Reserved: received, but not started.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!only_the_sum(inspector.ask("reserved").as_array()) && std::chrono::steady_clock::now() < end) continue;
  checks.equal("tasks that run", inspector.ask("active").as_array().size(), naps.size());

  json::array ids;
  for (const celery::Client::Handle& nap : naps) ids.push_back(json::string(nap.id()));
  inspector.ask("revoke", {{"task_id", ids}, {"terminate", true}});
  checks.equal("a task that is revoked while it runs", outcome(naps[0]), "TaskRevokedError: terminated");
  checks.equal("the task that had to wait", outcome(sum), "10");
  inspector.ask("shutdown");
  checks.equal("the worker's exit code after shutdown", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
