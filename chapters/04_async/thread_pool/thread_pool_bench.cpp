// Thread pool, measured: the cost of a task that does next to nothing
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/04_async chapters/04_async/thread_pool/thread_pool_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o thread_pool_bench
// Run:     thread_pool_bench [--tasks N] [--rounds N]

#include <tbb/global_control.h>

#include <boost/asio.hpp>
#include <future>
#include <string>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "pool_bench.hpp"
#include "thread_pool.hpp"

namespace {

void by_async(int, int tasks, Count& count) {
  for (int i = 0; i < tasks; ++i) {
    // A thread for each task, started here and ended there: the future's destructor waits for it.
    const std::future<void> task = std::async(std::launch::async, [&] { count.one(); });
  }
}

void by_asio(int workers, int tasks, Count& count) {
  boost::asio::thread_pool pool(static_cast<std::size_t>(workers));
  for (int i = 0; i < tasks; ++i) boost::asio::post(pool, [&] { count.one(); });
  pool.join();
}

void by_thread_pool(int workers, int tasks, Count& count) {
  ThreadPool pool(workers);
  for (int i = 0; i < tasks; ++i) pool.post([&] { count.one(); });
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 100'000, rounds = 11;
  cookbook::Options options("What it costs a pool to run a task that does next to nothing");
  options.add("tasks", tasks, "tasks that a run hands in", 200, 10'000'000);
  options.add("rounds", rounds, "measured runs of each pool", 1, 1'000);
  options.parse(argc, argv);

  long wrong = 0;
  const int workers = cookbook::allowed_processors();
  // As many workers as the other pools have, beside the thread that hands in the tasks.
  const tbb::global_control threads_of_tbb(tbb::global_control::max_allowed_parallelism, workers + 1);
  const auto row = [&](const std::string& name, int count, void (*run)(int, int, Count&)) {
    return pool_row(name, workers, count, run, wrong);
  };
  cookbook::Figures figures("one small task", cookbook::cost("ns", 1e-9));
  figures.speedup_over("tbb::task_group", "task_group");
  figures.measure({row("std::async, a thread per task", tasks / 200, by_async),
                   row("asio::thread_pool", tasks, by_asio), row("tbb::task_arena::enqueue", tasks, by_task_arena),
                   row("tbb::task_group", tasks, by_task_group), row("ThreadPool", tasks, by_thread_pool)},
                  rounds);

  cookbook::Checks checks;
  checks.equal("runs in which a task was lost or ran twice", wrong, 0L);
  figures.print(checks);
  return checks.exit_code();
}
