// Interpreter lock
//
// In CPython one lock, the global interpreter lock (GIL), lets one thread at a time run Python code. Here four threads
// compute, and then four threads wait for replies, under one such lock. Then they do the same with a lock each, which
// is as good as none. The table shows what the lock takes away: threads that compute gain nothing from each other under
// it, threads that wait do.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/interpreter_lock/interpreter_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o interpreter_lock
// Run:     interpreter_lock [--threads N]

#include "interpreter_lock.hpp"

#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// Counts the threads that are in the middle of something, and the most that there were at once.
class Gauge {
 public:
  void enter() {
    std::scoped_lock guard(mutex_);
    most_ = std::max(most_, ++inside_);
  }
  void leave() {
    std::scoped_lock guard(mutex_);
    --inside_;
  }
  int most() const { return most_; }

 private:
  std::mutex mutex_;
  int inside_ = 0, most_ = 0;
};

/// Some 10 to 20 ms of computing. Under a shared lock other threads get their turns at the checkpoints.
void compute(InterpreterLock& gil, Gauge& computing) {
  std::uint64_t number = 1;
  for (int step = 0; step < 200; ++step) {
    computing.enter();
    for (int i = 0; i < 50'000; ++i)
      number = number * 6364136223846793005 + 1442695040888963407;  // a random number generator
    cookbook::do_not_optimize(number);
    computing.leave();
    gil.checkpoint();
  }
}

/// Waits for a server that replies when it has the requests of all threads, 20 ms later.
void wait_for_reply(InterpreterLock& gil, Gauge& waiting, std::latch& requests) {
  gil.allow_threads([&] {
    waiting.enter();
    requests.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waiting.leave();
  });
}

/// Runs `job` in so many threads, which share the locks, and returns how many milliseconds it took.
template <typename Job>
double run(int threads, std::vector<InterpreterLock>& locks, Job job) {
  std::latch start(threads);
  std::vector<std::jthread> workers;
  const cookbook::Stopwatch watch;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      InterpreterLock& gil = locks[i % locks.size()];
      start.arrive_and_wait();
      const std::scoped_lock hold(gil);
      job(gil);
    });
  }
  workers.clear();  // waits for them
  return 1000 * watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4;
  cookbook::Options options("Run threads under a lock like that of Python's interpreter");
  options.add("threads", threads, "threads that compute, and that wait", 2, 32);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::vector<InterpreterLock> one_for_all(1), one_each(threads);
  for (auto* locks : {&one_for_all, &one_each}) {
    Gauge computing, waiting;
    std::latch requests(threads);
    const double compute_ms = run(threads, *locks, [&](InterpreterLock& gil) { compute(gil, computing); });
    const double wait_ms = run(threads, *locks, [&](InterpreterLock& gil) { wait_for_reply(gil, waiting, requests); });

    const bool shared = locks == &one_for_all;
    cookbook::println("{}", shared ? "One lock for all threads" : "One lock per thread");
    cookbook::println("  {} threads compute: {:4.0f} ms", threads, compute_ms);
    cookbook::println("  {} threads wait:    {:4.0f} ms", threads, wait_ms);
    checks.within("most threads that computed at once", computing.most(), shared ? 1 : 2, shared ? 1 : threads);
    checks.equal("most threads that waited at once", waiting.most(), threads);
  }
  return checks.exit_code();
}
