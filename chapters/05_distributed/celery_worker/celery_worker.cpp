// Celery worker
//
// Celery is Python's best-known task queue. Its clients and workers speak a protocol that is described in public: JSON
// in the messages of a broker. So a worker can be a C++ program. This one registers two functions under names; a client
// that knows only the broker and the names posts tasks, and gets results or exceptions. With --broker it takes the
// tasks of another broker, which clients in Python post.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_worker/celery_worker.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_worker
// Run:     celery_worker [--broker URL]

#include <csignal>
#include <string>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

/// A sum that does not fit is an error, since Python's integers have no limit.
std::int64_t add(std::int64_t x, std::int64_t y) {
  std::int64_t sum;
  if (__builtin_add_overflow(x, y, &sum)) throw celery::TaskError("OverflowError", "the sum does not fit into 64 bits");
  return sum;
}

double divide(double x, double y) {
  if (y == 0) throw celery::TaskError("ZeroDivisionError", "division by zero");
  return x / y;
}

}  // namespace

int main(int argc, char** argv) {
  std::string url;
  cookbook::Options options("A worker for tasks of Celery, in C++");
  options.add("broker", url, "take tasks from the broker at this address until SIGTERM comes, and show nothing");
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("addTask.add", {"x", "y"}, add);
  registry.add("addTask.divide", {"x", "y"}, divide);
  if (!url.empty()) {
    try {
      celery::work(url, registry);
      return 0;
    } catch (const std::invalid_argument& error) {  // this is no address
      cookbook::print_error(fmt::format("--broker {}", error.what()));
      return 2;
    }
  }

  const Broker broker;
  celery::Client client(broker.url());
  cookbook::Checks checks;

  // The book's program: add(5, 5), posted three times. The worker is started afterwards.
  std::vector<celery::Client::Handle> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(client.delay("addTask.add", 5, 5));
  const pid_t worker = cookbook::start_child([&] { celery::work(broker.url(), registry); });

  std::vector<std::string> sums;
  for (const celery::Client::Handle& task : tasks) sums.push_back(outcome(task));
  checks.equal("three times add(5, 5)", sums, {"10", "10", "10"});
  checks.equal("arguments by name", outcome(client.apply_async("addTask.add", {}, {{"x", 5}, {"y", 5}})), "10");
  checks.equal("1 divided by 0", outcome(client.delay("addTask.divide", 1, 0)), "ZeroDivisionError: division by zero");
  checks.equal("no such task", outcome(client.delay("addTask.subtract", 5, 5)), "NotRegistered: addTask.subtract");
  checks.equal("to be executed in a second", outcome(client.apply_async("addTask.add", {5, 5}, {}, {.countdown = 1})),
               "NotImplementedError: eta and countdown");

  kill(worker, SIGTERM);
  checks.equal("the worker's exit code after SIGTERM", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
