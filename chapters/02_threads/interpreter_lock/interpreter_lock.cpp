// Interpreter lock
//
// In CPython one lock, the global interpreter lock (GIL), lets one thread at a time run Python code. Here threads
// compute and wait for replies, under a model of this lock, and then as if there were none: with a lock per thread. The
// table shows what the one lock takes away, and that threads get it back if they give the lock up while they compute or
// wait. But one thread that computes and keeps the lock delays those that give it up.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/interpreter_lock/interpreter_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o interpreter_lock
// Run:     interpreter_lock [--threads N]

#include "interpreter_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
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

/// Some hundredths of a millisecond of computing, on an idle core.
void compute_a_little() {
  std::uint64_t number = 1;
  for (int i = 0; i < 50'000; ++i) number = number * 6364136223846793005 + 1442695040888963407;  // random numbers
  cookbook::do_not_optimize(number);
}

/// Some 10 ms of computing, on an idle core, under the lock. After each step another thread may get it.
void compute(InterpreterLock& gil) {
  for (int step = 0; step < 200; ++step) {
    compute_a_little();
    gil.checkpoint();
  }
}

/// The same by a function that touches no Python object, and so can give the lock up.
void compute_without_lock(InterpreterLock& gil) {
  gil.allow_threads([] {
    for (int step = 0; step < 200; ++step) compute_a_little();
  });
}

std::atomic<int> waiting_now = 0, most_at_once = 0;

/// Waits so long for the reply of a server; a sleep stands for it. Notes how many threads do so at once.
void wait_for_reply(std::chrono::milliseconds time) {
  const int now = ++waiting_now;
  for (int most = most_at_once; most < now && !most_at_once.compare_exchange_weak(most, now);) {
  }
  std::this_thread::sleep_for(time);
  --waiting_now;
}

void wait_without_lock(InterpreterLock& gil, std::chrono::milliseconds time) {
  gil.allow_threads([&] { wait_for_reply(time); });
}

/// Runs job(lock) in so many threads three times, with one lock for all or with one each; returns the milliseconds of
/// the fastest run.
template <typename Job>
double milliseconds(int threads, bool one_lock, Job job) {
  double shortest = 1e9;
  for (int run = 0; run < 3; ++run) {
    std::vector<InterpreterLock> locks(one_lock ? 1 : threads);
    std::latch start(threads);
    std::vector<std::jthread> workers;
    const cookbook::Stopwatch watch;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&start, &job, &gil = locks[one_lock ? 0 : i]] {
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
  cookbook::println("{:<37}{:13.0f} ms{:21.0f} ms", what, for_all_ms, each_ms);
}

/// Prints how long so many threads take for job(lock), with one lock for all and with a lock each. Returns how many
/// have waited at the same time in the two cases.
template <typename Job>
std::array<int, 2> compare(std::string_view what, int threads, Job job) {
  most_at_once = 0;
  const double for_all = milliseconds(threads, true, job);
  const int most_for_all = most_at_once.exchange(0);
  print_row(what, for_all, milliseconds(threads, false, job));
  return {most_for_all, most_at_once};
}

/// How many milliseconds a thread takes for ten replies of 1 ms, while another one computes all the time.
double ten_replies(InterpreterLock& mine, InterpreterLock& of_the_other) {
  std::latch computing(1);
  std::jthread other([&](std::stop_token stop) {
    const std::scoped_lock hold(of_the_other);
    computing.count_down();
    while (!stop.stop_requested()) {
      compute_a_little();
      of_the_other.checkpoint();
    }
  });
  computing.wait();
  const std::scoped_lock hold(mine);
  const cookbook::Stopwatch watch;
  for (int reply = 0; reply < 10; ++reply) wait_without_lock(mine, 1ms);
  return 1000 * watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4;
  cookbook::Options options("Run threads under a lock like that of Python's interpreter");
  options.add("threads", threads, "threads that compute, and that wait", 2, 32);
  options.parse(argc, argv);

  cookbook::println("{:<37}{:>16}{:>24}", "", "one lock for all", "without (a lock each)");
  compare("1 thread computes", 1, compute);
  compare(fmt::format("{} threads compute, keep the lock", threads), threads, compute);
  compare(fmt::format("{} threads compute, give it up", threads), threads, compute_without_lock);
  const auto keep = compare(fmt::format("{} threads wait 20 ms, keep the lock", threads), threads,
                            [](InterpreterLock&) { wait_for_reply(20ms); });
  const auto give_up = compare(fmt::format("{} threads wait 20 ms, give it up", threads), threads,
                               [](InterpreterLock& gil) { wait_without_lock(gil, 20ms); });
  double ten_for_all = 1e9, ten_each = 1e9;
  for (int i = 0; i < 3; ++i) {
    InterpreterLock shared, one, other;
    ten_for_all = std::min(ten_for_all, ten_replies(shared, shared));
    ten_each = std::min(ten_each, ten_replies(one, other));
  }
  print_row("1 thread waits 10 x 1 ms, 1 computes", ten_for_all, ten_each);

  cookbook::Checks checks;
  checks.that("threads that keep the lock wait one after another", keep[0] == 1);
  checks.that("threads that give it up wait at the same time", give_up[0] > 1);
  checks.that("threads that have a lock each wait at the same time", keep[1] > 1);
  return checks.exit_code();
}
