// Interpreter lock
//
// In CPython one lock, the global interpreter lock (GIL), lets one thread at a time run Python code. Here four threads
// compute, and then four threads wait for replies, under one such lock for all. Then they do the same with a lock each,
// which is as good as none. The table shows what the lock takes away: threads that compute gain nothing from each other
// under it, threads that wait do.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/interpreter_lock/interpreter_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o interpreter_lock
// Run:     interpreter_lock [--threads N]

#include "interpreter_lock.hpp"

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <latch>
#include <string>
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
void wait_for_reply(InterpreterLock& gil, Gauge& waiting, std::barrier<>& requests) {
  gil.allow_threads([&] {
    waiting.enter();
    requests.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waiting.leave();
  });
}

/// Runs job(lock) in so many threads, which share the locks, three times; returns the milliseconds of the fastest run.
template <typename Job>
double milliseconds(int threads, std::vector<InterpreterLock>& locks, Job job) {
  double shortest = 1e9;
  for (int run = 0; run < 3; ++run) {
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
    shortest = std::min(shortest, 1000 * watch.seconds());
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4;
  cookbook::Options options("Run threads under a lock like that of Python's interpreter");
  options.add("threads", threads, "threads that compute, and that wait", 2, 32);
  options.parse(argc, argv);

  std::vector<InterpreterLock> for_all(1), each(threads);
  Gauge computing_for_all, computing_each, waiting_for_all, waiting_each;
  std::barrier requests(threads);

  cookbook::println("                    one lock for all   a lock each");
  const auto compare = [&](const std::string& what, int n, auto job_for_all, auto job_each) {
    const double under_one = milliseconds(n, for_all, job_for_all), under_own = milliseconds(n, each, job_each);
    cookbook::println("{:<20}{:13.0f} ms {:10.0f} ms", what, under_one, under_own);
  };
  const auto computes_for_all = [&](InterpreterLock& gil) { compute(gil, computing_for_all); };
  const auto computes_each = [&](InterpreterLock& gil) { compute(gil, computing_each); };
  compare("1 thread computes", 1, computes_for_all, computes_each);
  compare(fmt::format("{} threads compute", threads), threads, computes_for_all, computes_each);
  compare(
      fmt::format("{} threads wait", threads), threads,
      [&](InterpreterLock& gil) { wait_for_reply(gil, waiting_for_all, requests); },
      [&](InterpreterLock& gil) { wait_for_reply(gil, waiting_each, requests); });

  cookbook::Checks checks;
  checks.equal("most threads that computed at once, under one lock", computing_for_all.most(), 1);
  checks.that("threads computed at the same time, with a lock each", computing_each.most() > 1);
  checks.equal("most threads that waited at once, under one lock", waiting_for_all.most(), threads);
  return checks.exit_code();
}
