// Celery pool
//
// A task can crash, take longer than its time limit, or be cancelled. This program does all of that to a worker that
// has its tasks executed by another process, and prints what the client gets, after what time, and whether the worker
// and that process are still the same. At last it kills the worker itself in the middle of a task, and starts another.
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

/// The ids of the worker and of its process that executes this task.
std::string ids() { return fmt::format("{} {}", getppid(), getpid()); }

/// Numbers processes in the order in which they are seen: 1, 2 and so on.
class Numbering {
 public:
  /// "1" if it is the same process as the last time, else "1, then 2".
  std::string seen(int id) {
    if (id == id_) return std::to_string(number_);
    id_ = id;
    ++number_;
    return fmt::format("{}, then {}", number_ - 1, number_);
  }

 private:
  int id_ = 0, number_ = 0;
};

/// Prints a line for each task, and counts those that have another result than they should.
class Experiment {
 public:
  explicit Experiment(celery::Client& client) : client_(client) { look_at_ids(); }

  /// Waits for the result of the task that `begin` returns. The time is counted from before `begin`.
  void show(const std::string& what, const std::function<celery::Client::Handle()>& begin,
            const std::string& expected) {
    const cookbook::Stopwatch watch;
    const std::string result = outcome(begin());
    const double ms = 1e3 * watch.seconds();
    const auto [worker, process] = look_at_ids();
    cookbook::println("{:<21}  {:<61}  {:>5.1f} ms  {:<9}  {}", what, result, ms, worker, process);
    if (result != expected) ++unexpected;
  }

  int unexpected = 0;

 private:
  /// Posts a task that returns both ids: the numbers of the worker and of its process.
  std::pair<std::string, std::string> look_at_ids() {
    const std::string ids = client_.delay("app.ids").get().as_string().c_str();
    const std::size_t space = ids.find(' ');
    return {workers_.seen(std::stoi(ids)), processes_.seen(std::stoi(ids.substr(space)))};
  }

  celery::Client& client_;
  Numbering workers_, processes_;
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
  registry.add("app.ids", {}, ids);
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
  cookbook::println("{:<21}  {:<61}  {:>8}  {:<9}  process", "task", "what the client gets", "after", "worker");
  const auto post = [&](const char* task, auto... arguments) {
    return [=, &client] { return client.delay(task, arguments...); };
  };
  experiment.show("add(5, 5)", post("app.add", 5, 5), "10");
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
  experiment.show("nap(0.3), worker lost", start_next_worker, "\"awake\"");

  cookbook::Checks checks;
  checks.equal("tasks with another end than they should have", experiment.unexpected, 0);
  kill(worker, SIGTERM);
  checks.equal("the worker's exit code after SIGTERM", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
