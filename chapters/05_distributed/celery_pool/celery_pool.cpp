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
#include <string>
#include <thread>
#include <utility>

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

/// Prints a line for each task, and counts those that have another result than they should.
class Table {
 public:
  explicit Table(celery::Client& client) : client_(client), ids_(ids_now()) {}

  /// Waits for the result of a task. The time counts from when the line before was printed, or from start_clock().
  void show(const std::string& what, const celery::Client::Handle& task, const std::string& expected) {
    std::string result = outcome(task);
    const double ms = 1e3 * watch_.seconds();
    std::erase(result, '"');
    const auto [worker, process] = std::exchange(ids_, ids_now());
    const auto now = [](const std::string& before, const std::string& after) {
      return before == after ? "the same" : "another";
    };
    cookbook::println("{:<26}  {:<38}  {:>5.1f} ms  {:<8}  {}", what, result, ms, now(worker, ids_.first),
                      now(process, ids_.second));
    if (result != expected) ++unexpected;
    start_clock();
  }
  void start_clock() { watch_ = {}; }

  int unexpected = 0;

 private:
  /// Of the worker, and of its process that executes the tasks.
  std::pair<std::string, std::string> ids_now() {
    const std::string ids = client_.delay("app.ids").get().as_string().c_str();
    const std::size_t space = ids.find(' ');
    return {ids.substr(0, space), ids.substr(space + 1)};
  }

  celery::Client& client_;
  std::pair<std::string, std::string> ids_;
  cookbook::Stopwatch watch_;
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

  cookbook::println("{:<26}  {:<38}  {:>8}  {:<8}  process", "task", "what the client gets", "after", "worker");
  Table table(client);
  table.show("add(5, 5)", client.delay("app.add", 5, 5), "10");
  table.show("crash()", client.delay("app.crash"), "WorkerLostError: its process has ended");

  const double limit = 1e-3 * limit_ms;
  table.show(fmt::format("nap(60), limit {} s", limit), client.apply_async("app.nap", {60}, {}, {.time_limit = limit}),
             fmt::format("TimeLimitExceeded: {}", limit));

  const celery::Client::Handle revoked = nap_that_has_started(60);
  table.start_clock();
  client.revoke(revoked);
  table.show("nap(60), then revoked", revoked, "TaskRevokedError: terminated");

  const celery::Client::Handle orphan = nap_that_has_started(0.3);
  kill(worker, SIGKILL);
  cookbook::exit_code_of(worker);
  table.start_clock();
  worker = start_worker();
  table.show("nap(0.3), then worker lost", orphan, "awake");

  cookbook::Checks checks;
  checks.equal("tasks with another end than they should have", table.unexpected, 0);
  kill(worker, SIGTERM);
  checks.equal("the worker's exit code after SIGTERM", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
