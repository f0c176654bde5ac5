// Fair thread pool
//
// A pool with one queue locks a mutex each time that a worker takes a task. This pool takes many tasks under one lock.
// They must not all go to one worker: a short task would wait behind a long one, although another worker has nothing to
// do. So the workers share what was taken, and each takes one task at a time from it, by an atomic addition. The class
// is in fair_thread_pool.hpp; here long tasks keep all workers but one busy, and that one runs all short tasks.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/fair_thread_pool/fair_thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o fair_thread_pool
// Run:     fair_thread_pool [--workers N] [--tasks N]

#include "fair_thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <latch>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  int workers = 3, tasks = 1'000;
  cookbook::Options options("A pool that takes many tasks under one lock, and stays fair");
  options.add("workers", workers, "threads of the pool", 2, 64);
  options.add("tasks", tasks, "short tasks to run", 1, 100'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::atomic<int> long_done = 0, short_done = 0;
  {
    FairThreadPool pool(workers);
    std::latch all_posted(1), all_short_done(tasks), end(1);

    // Keeps the workers busy until all tasks are there. So these become one batch, or two if a worker starts late.
    for (int i = 0; i < workers; ++i) pool.post([&] { all_posted.wait(); });
    for (int i = 0; i < tasks; ++i) {
      if (i < workers - 1) {  // a long task for each worker but one, and behind it a short one
        pool.post([&] {
          end.wait();
          ++long_done;
        });
      }
      pool.post([&] {
        ++short_done;
        all_short_done.count_down();
      });
    }
    all_posted.count_down();
    all_short_done.wait();  // for ever, if a short task waited behind a long one
    checks.equal("short tasks done", short_done.load(), tasks);
    checks.equal("long tasks done by then", long_done.load(), 0);
    end.count_down();
  }  // the pool's destructor waits for all tasks
  checks.equal("long tasks done when the pool was gone", long_done.load(), std::min(tasks, workers - 1));
  return checks.exit_code();
}
