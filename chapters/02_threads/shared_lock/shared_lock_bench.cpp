// std::shared_mutex beside std::mutex
//
// Threads, each on a processor of its own as far as there are enough, read a table and now and then rewrite it, for a
// fixed time. The tables show how many operations per second all threads do together, at several shares of reads, with
// short and with long work under the lock. With 100 % reads there is also a row without any lock.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/shared_lock/shared_lock_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_lock_bench
// Run:     shared_lock_bench [--threads N] [--numbers N] [--window-ms N] [--rounds N]

#include <atomic>
#include <chrono>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "guarded.hpp"

namespace {

template <typename Mutex>
using Table = Guarded<std::vector<long>, Mutex>;  // numbers whose sum is 0, except in the middle of a rewrite

/// Operation number i: a read, or in 100 - `reads` of every hundred a rewrite. Returns false if the sum was not 0.
template <typename Mutex>
bool operate(Table<Mutex>& table, long i, int reads) {
  // 61 and 100 have no common divisor: the rewrites are spread evenly, and their number in every hundred is exact.
  if (i * 61 % 100 < reads) {
    return 0 == table.read([](const auto& numbers) { return std::reduce(numbers.begin(), numbers.end(), 0L); });
  }
  table.write([](auto& numbers) {
    for (std::size_t k = 0; k + 1 < numbers.size(); k += 2) {
      --numbers[k];
      ++numbers[k + 1];
    }
  });
  return true;
}

/// Starts `member(t)` in so many threads, each kept on one processor. The destructors of the threads wait for them.
template <typename Member>
std::vector<std::jthread> team_of(int threads, Member member) {
  std::vector<std::jthread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([member, t] {
      cookbook::pin(t);
      member(t);
    });
  }
  return team;
}

/// The check: 10,000 operations of each thread, one in ten a rewrite.
template <typename Mutex>
void check_lock(cookbook::Checks& checks, const std::string& lock, int threads) {
  Table<Mutex> table(std::vector<long>(64, 0));
  std::atomic<int> wrong = 0;
  team_of(threads, [&](int t) {
    for (long i = 0; i < 10'000; ++i) wrong += !operate(table, 37 * t + i, 90);
  }).clear();
  checks.equal("tables seen half rewritten, " + lock, wrong.load(), 0);
  checks.equal("rewrites, " + lock, table.read([](const auto& numbers) { return numbers[1]; }), 1000L * threads);
}

/// Lets the threads operate on a table for some time; returns the seconds per operation of all threads together.
template <typename Mutex>
double seconds_each(int numbers, int threads, int reads, std::chrono::milliseconds window) {
  Table<Mutex> table(std::vector<long>(numbers, 0));
  std::atomic<bool> stop = false;
  std::atomic<long> operations = 0;
  std::latch ready(threads + 1);
  auto team = team_of(threads, [&](int t) {
    ready.arrive_and_wait();
    long done = 0;
    do {
      cookbook::do_not_optimize(operate(table, 37 * t + done++, reads));
    } while (!stop.load(std::memory_order_relaxed));
    operations += done;
  });
  ready.arrive_and_wait();
  const cookbook::Stopwatch watch;
  std::this_thread::sleep_for(window);
  stop = true;
  team.clear();
  return watch.seconds() / static_cast<double>(operations);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = std::max(2, cookbook::allowed_processors());
  int numbers = 16'384, window_ms = 100, rounds = 7;
  cookbook::Options options("Measure std::shared_mutex beside std::mutex");
  options.add("threads", threads, "threads that read and rewrite", 2, 1000);
  options.add("numbers", numbers, "numbers in the table where the work is long", 2, 10'000'000);
  options.add("window-ms", window_ms, "milliseconds of one measurement", 1, 10'000);
  options.add("rounds", rounds, "rounds in which each row is measured once", 1, 1000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  check_lock<PlainMutex>(checks, "mutex", threads);
  check_lock<std::shared_mutex>(checks, "shared_mutex", threads);

  const std::chrono::milliseconds window(window_ms);
  for (const int size : {2, numbers}) {
    for (const int reads : {50, 90, 99, 100}) {
      std::vector<cookbook::Benchmark> rows = {
          {"std::mutex", 1, [=] { return seconds_each<PlainMutex>(size, threads, reads, window); }},
          {"std::shared_mutex", 1, [=] { return seconds_each<std::shared_mutex>(size, threads, reads, window); }}};
      if (reads == 100) {
        rows.emplace_back("no lock", 1, [=] { return seconds_each<NoMutex>(size, threads, reads, window); });
      }
      cookbook::Figures figures(fmt::format("{} % reads of {} numbers", reads, size), cookbook::rate("M/s", 1e6));
      figures.measure(rows, rounds);
      figures.speedup_over("std::mutex", "mutex");
      figures.print(checks);
    }
  }
  return checks.exit_code();
}
