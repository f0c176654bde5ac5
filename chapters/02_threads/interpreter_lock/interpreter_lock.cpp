// Interpreter lock
//
// In CPython one lock, the global interpreter lock (GIL), lets one thread at a time run Python code. Here threads
// compute and wait for replies, under one such lock for all, and then without a lock in common: each has its own. The
// table shows what the lock takes away: under it, several threads that compute are no faster than one. Threads that
// wait can do so at the same time, if they give the lock up meanwhile; but one thread that computes delays them.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/interpreter_lock/interpreter_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o interpreter_lock
// Run:     interpreter_lock [--threads N]

#include "interpreter_lock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using namespace std::chrono_literals;

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

/// A few hundredths of a millisecond of computing, and then the point at which another thread may get the lock.
void compute_a_little(InterpreterLock& gil, Gauge& computing) {
  computing.enter();
  std::uint64_t number = 1;
  for (int i = 0; i < 50'000; ++i) number = number * 6364136223846793005 + 1442695040888963407;  // random numbers
  cookbook::do_not_optimize(number);
  computing.leave();
  gil.checkpoint();
}

/// Some 10 to 20 ms of computing.
void compute(InterpreterLock& gil, Gauge& computing) {
  for (int step = 0; step < 200; ++step) compute_a_little(gil, computing);
}

/// A server that replies after so long; a sleep stands for it.
void wait_for_reply(InterpreterLock& gil, std::chrono::milliseconds time) {
  gil.allow_threads([&] { std::this_thread::sleep_for(time); });
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

void print_row(std::string_view what, double for_all_ms, double each_ms) {
  cookbook::println("{:<34}{:13.0f} ms{:14.0f} ms", what, for_all_ms, each_ms);
}

/// The most threads that were in the middle of a job at once.
struct AtOnce {
  int for_all, each;
};

/// Prints how long so many threads take for job(lock, gauge), with one lock for all and with a lock each.
template <typename Job>
AtOnce compare(std::string_view what, int threads, Job job) {
  std::vector<InterpreterLock> one(1), own(threads);
  Gauge for_all, each;
  const double for_all_ms = milliseconds(threads, one, [&](InterpreterLock& gil) { job(gil, for_all); });
  print_row(what, for_all_ms, milliseconds(threads, own, [&](InterpreterLock& gil) { job(gil, each); }));
  return {for_all.most(), each.most()};
}

/// How many milliseconds a thread takes for ten replies of 1 ms, while another one computes all the time.
double ten_replies(InterpreterLock& mine, InterpreterLock& of_the_other) {
  std::latch computing(1);
  std::jthread other([&](std::stop_token stop) {
    const std::scoped_lock hold(of_the_other);
    computing.count_down();
    Gauge unused;
    while (!stop.stop_requested()) compute_a_little(of_the_other, unused);
  });
  computing.wait();
  const std::scoped_lock hold(mine);
  const cookbook::Stopwatch watch;
  for (int reply = 0; reply < 10; ++reply) wait_for_reply(mine, 1ms);
  return 1000 * watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4;
  cookbook::Options options("Run threads under a lock like that of Python's interpreter");
  options.add("threads", threads, "threads that compute, and that wait", 2, 32);
  options.parse(argc, argv);

  cookbook::println("{:<34}{:>16}{:>17}", "", "one lock for all", "no common lock");
  compare("1 thread computes", 1, compute);
  const AtOnce computing = compare(fmt::format("{} threads compute", threads), threads, compute);
  const AtOnce keeping =
      compare(fmt::format("{} threads wait, keep the lock", threads), threads, [](InterpreterLock&, Gauge& gauge) {
        gauge.enter();
        std::this_thread::sleep_for(20ms);  // without allow_threads
        gauge.leave();
      });
  const AtOnce waiting =
      compare(fmt::format("{} threads wait, give it up", threads), threads, [](InterpreterLock& gil, Gauge& gauge) {
        gauge.enter();
        wait_for_reply(gil, 20ms);
        gauge.leave();
      });
  double ten_for_all = 1e9, ten_each = 1e9;
  for (int i = 0; i < 3; ++i) {
    InterpreterLock shared, one, other;
    ten_for_all = std::min(ten_for_all, ten_replies(shared, shared));
    ten_each = std::min(ten_each, ten_replies(one, other));
  }
  print_row("10 waits of 1 ms, another computes", ten_for_all, ten_each);

  cookbook::Checks checks;
  checks.equal("most threads at once under one lock, computing", computing.for_all, 1);
  checks.equal("most threads at once under one lock, waiting and keeping it", keeping.for_all, 1);
  checks.that("several at once under one lock, waiting and giving it up", waiting.for_all > 1);
  checks.that("several at once without a common lock, computing", computing.each > 1);
  return checks.exit_code();
}
