// Thread pool, measured: the cost of a task that does next to nothing
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/04_async chapters/04_async/thread_pool/thread_pool_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o thread_pool_bench
// Run:     thread_pool_bench [--tasks N] [--rounds N]

#include <boost/asio.hpp>
#include <future>

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
  return compare_pools(argc, argv,
                       {{"std::async, a thread per task", by_async, 200},
                        {"asio::thread_pool", by_asio},
                        {"tbb::task_arena::enqueue", by_task_arena},
                        {"tbb::task_group", by_task_group},
                        {"ThreadPool", by_thread_pool}},
                       200);
}
