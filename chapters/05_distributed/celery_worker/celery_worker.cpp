// Celery worker
//
// Celery is Python's best-known task queue. Its workers and clients speak a protocol that is described in public: JSON
// in the messages of a broker. So a worker can be a C++ program. This one registers functions under names, and a client
// that knows only the broker and the names posts tasks and gets their results. Clients and workers in Python take part
// without noticing: celery_worker_start is the worker alone, for them.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_worker/celery_worker.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_worker
// Run:     celery_worker [--concurrency N]

#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "broker.hpp"
#include "child_program.hpp"
#include "client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "tasks.hpp"
#include "worker.hpp"

namespace {

/// What became of a task, as text: "10", or "ZeroDivisionError: division by zero".
std::string outcome(celery::Client::Handle task) {
  try {
    return celery::shown(task.get());
  } catch (const celery::TaskFailed& failed) {
    return failed.type + ": " + failed.what();
  } catch (const celery::NoResult& none) {
    return none.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int concurrency = 2;
  cookbook::Options options("A worker for tasks of Celery, in C++");
  options.add("concurrency", concurrency, "processes of the worker that execute tasks", 1, 64);
  options.parse(argc, argv);

  const Broker broker;
  celery::Client client(broker.url());
  cookbook::Checks checks;

  // The book's program: add(5, 5), posted three times. The worker is started afterwards.
  std::vector<celery::Client::Handle> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(client.delay("addTask.add", 5, 5));

  const pid_t worker = start_child([&] {
    const celery::Registry registry = celery::registered_tasks("addTask");  // tasks.hpp: add, divide, nap and others
    celery::Worker({.url = broker.url(), .node = "cpp@here", .concurrency = concurrency, .quiet = true}, registry)
        .run();
  });

  std::vector<std::string> sums;
  std::set<std::string> ids;
  for (const celery::Client::Handle& task : tasks) {
    sums.push_back(outcome(task));
    ids.insert(task.id());
  }
  checks.equal("three times add(5, 5)", sums, {"10", "10", "10"});
  checks.equal("different ids", ids.size(), 3U);
  checks.equal("arguments by name", outcome(client.apply_async("addTask.add", {}, {{"x", 5}, {"y", 5}})), "10");
  checks.equal("1 divided by 0", outcome(client.delay("addTask.divide", 1, 0)), "ZeroDivisionError: division by zero");
  checks.equal("fails twice, and is tried again", outcome(client.delay("addTask.flaky", 2)), "2");
  checks.equal("no such task", outcome(client.delay("addTask.subtract", 5, 5)), "NotRegistered: addTask.subtract");
  checks.equal("expires before its countdown ends",
               outcome(client.apply_async("addTask.add", {5, 5}, {}, {.countdown = 0.1, .expires = 0.05})),
               "TaskRevokedError: expired");
  checks.equal("takes too long", outcome(client.apply_async("addTask.nap", {60}, {}, {.time_limit = 0.1})),
               "TimeLimitExceeded: 0.1");
  checks.equal("without a result", outcome(client.apply_async("addTask.add", {5, 5}, {}, {.ignore_result = true})),
               "no result is kept, since the task was posted with ignore_result");

  kill(worker, SIGTERM);
  checks.equal("the worker's exit code after SIGTERM", exit_code_of(worker), 0);
  return checks.exit_code();
}
