// Celery pool
//
// A task can take longer than its time limit, be cancelled, crash, or return what JSON cannot express. This program
// does all of that to a worker that has its tasks executed by other processes, and prints what the client gets, after
// what time, and what became of the process. At last it kills the worker itself in the middle of a task, and starts
// another.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_pool/celery_pool.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_pool
// Run:     celery_pool [--limit-ms N]

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

double add(double x, double y) { return x + y; }

std::string nap(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return "awake";
}

std::int64_t crash() { std::abort(); }

std::int64_t process() { return getpid(); }

/// Prints a line for each task, and counts those that have another result than they should.
class Experiment {
 public:
  explicit Experiment(celery::Client& client) : client_(client), process_(process_now()) {}

  /// Waits for the result of the task that `begin` returns. The time is counted from before `begin`.
  void show(const std::string& what, const std::function<celery::Client::Handle()>& begin, const std::string& expected,
            const char* if_new = "is replaced") {
    const cookbook::Stopwatch watch;
    const std::string result = outcome(begin());
    const double ms = 1e3 * watch.seconds();
    const std::string before = std::exchange(process_, process_now());
    cookbook::println("{:<21}  {:<66}  {:>5.1f} ms  {}", what, result, ms, process_ == before ? "goes on" : if_new);
    if (result != expected) ++unexpected;
  }

  int unexpected = 0;

 private:
  std::string process_now() { return outcome(client_.delay("app.process")); }

  celery::Client& client_;
  std::string process_;  ///< the id of the one that has executed the last task
};

}  // namespace

int main(int argc, char** argv) {
  int limit_ms = 200;
  cookbook::Options options("Kill a task of Celery, and not its worker");
  options.add("limit-ms", limit_ms, "time limit of a task that takes too long", 1, 10'000);
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("app.add", {"x", "y"}, add);
  registry.add("app.nap", {"seconds"}, nap);
  registry.add("app.crash", {}, crash);
  registry.add("app.process", {}, process);
  const Broker broker;
  const auto start_worker = [&] {
    return cookbook::start_child([&] { celery::PoolWorker(broker.url(), registry, /*concurrency=*/1).run(); });
  };
  pid_t worker = start_worker();
  celery::Client client(broker.url());
  const auto nap_that_has_started = [&](double seconds) {
    celery::Client::Handle task = client.delay("app.nap", seconds);
    while (task.state() != "STARTED") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return task;
  };

  Experiment experiment(client);
  cookbook::println("{:<21}  {:<66}  {:>8}  its process", "task", "what the client gets", "after");
  const auto post = [&](const char* task, auto... arguments) {
    return [=, &client] { return client.delay(task, arguments...); };
  };
  experiment.show("add(5, 5)", post("app.add", 5, 5), "10");
  experiment.show("add(1e308, 1e308)", post("app.add", 1e308, 1e308),
                  "EncodeError: the result has a number that is infinite or undefined");
  experiment.show("crash()", post("app.crash"), "WorkerLostError: the process that executed the task has ended");

  const double limit = 1e-3 * limit_ms;
  experiment.show(
      fmt::format("nap(60), limit {} s", limit),
      [&] { return client.apply_async("app.nap", {60}, {}, {.time_limit = limit}); },
      fmt::format("TimeLimitExceeded: {}", limit));

  const celery::Client::Handle revoked = nap_that_has_started(60);
  const auto revoke = [&] {
    client.revoke(revoked);
    return revoked;
  };
  experiment.show("nap(60), revoked", revoke, "TaskRevokedError: terminated");

  const celery::Client::Handle orphan = nap_that_has_started(0.3);
  kill(worker, SIGKILL);
  cookbook::exit_code_of(worker);
  const auto start_next_worker = [&] {
    worker = start_worker();
    return orphan;
  };
  experiment.show("nap(0.3), worker lost", start_next_worker, "\"awake\"", "is new, as its worker");

  cookbook::Checks checks;
  checks.equal("tasks with another end than they should have", experiment.unexpected, 0);
  kill(worker, SIGTERM);
  checks.equal("the worker's exit code after SIGTERM", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
