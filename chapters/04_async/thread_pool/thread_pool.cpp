// Thread pool
//
// A pool starts its threads, the workers, once. Each takes a task from a queue, runs it, and takes the next one, so a
// few threads run any number of tasks. Handing in a task gives a future, which gets the result of the task or its
// exception. The class is in thread_pool.hpp; here it computes some squares, runs a task that throws, and shuts down
// while tasks are still in its queue.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/thread_pool/thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_pool
// Run:     thread_pool [--workers N] [--tasks N]

#include "thread_pool.hpp"

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  int workers = 3, tasks = 8;
  cookbook::Options options("A pool of threads runs many tasks");
  options.add("workers", workers, "threads of the pool", 1, 64);
  options.add("tasks", tasks, "tasks to run", 1, 1'000);
  options.parse(argc, argv);
  cookbook::Checks checks;
  std::atomic<int> tasks_run = 0;
  {
    ThreadPool pool(workers);

    std::vector<std::future<std::pair<long, std::thread::id>>> futures;
    for (long i = 1; i <= tasks; ++i) {
      futures.push_back(pool.submit([i] { return std::pair(i * i, std::this_thread::get_id()); }));
    }
    long sum = 0;
    std::set<std::thread::id> workers_seen;
    for (auto& future : futures) {
      const auto [square, worker] = future.get();  // waits until the task has run
      sum += square;
      workers_seen.insert(worker);
    }
    checks.equal("sum of the squares", sum, tasks * (tasks + 1L) * (2L * tasks + 1) / 6);
    checks.that(fmt::format("all tasks were run by {} threads or fewer", workers), std::ssize(workers_seen) <= workers);

    std::future<int> fails = pool.submit([]() -> int { throw std::runtime_error("no such number"); });
    std::string error = "none";
    try {
      fails.get();
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
    checks.equal("exception that came out of the future", error, "no such number");

    for (int i = 0; i < 1'000; ++i) pool.post([&] { ++tasks_run; });
  }  // the pool's destructor waits for the tasks that have not run yet
  checks.equal("tasks run before the pool was gone", tasks_run.load(), 1'000);
  return checks.exit_code();
}
