// Shared lock
//
// A table is read often and rewritten now and then. A std::mutex lets one thread in at a time; a std::shared_mutex lets
// in any number of readers, or one writer. The program shows who gets in when, that no reader sees a table half
// rewritten, and that readers overtake a waiting writer; then it measures both locks at several shares of reads, with
// short and with long work under the lock. The shared lock often loses.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/shared_lock/shared_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_lock
// Run:     shared_lock [--threads N] [--numbers N] [--hundreds N] [--window-ms N]

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <latch>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

/// Numbers whose sum is 0, except while a writer is at work. Its kinds differ in the lock, and in what a reader takes.
template <typename Mutex, typename ReadLock>
class Table {
 public:
  explicit Table(long numbers) : numbers_(static_cast<std::size_t>(numbers), 0) {}

  long sum() const {
    ReadLock hold(guard_);
    return std::reduce(numbers_.begin(), numbers_.end(), 0L);
  }

  void rewrite() {
    std::scoped_lock hold(guard_);
    for (std::size_t i = 0; i + 1 < numbers_.size(); i += 2) {
      --numbers_[i];
      ++numbers_[i + 1];
    }
    ++rewrites_;
  }

  long rewrites() const {
    ReadLock hold(guard_);
    return rewrites_;
  }

 private:
  mutable Mutex guard_;
  std::vector<long> numbers_;
  long rewrites_ = 0;
};

using ToRead = std::shared_lock<std::shared_mutex>;
using ToWrite = std::unique_lock<std::shared_mutex>;
using PlainTable = Table<std::mutex, std::unique_lock<std::mutex>>;
using SharedTable = Table<std::shared_mutex, ToRead>;

/// No lock: right as long as nobody writes, and the limit for readers.
struct NoMutex {
  void lock() {}
  void unlock() {}
};
using UnlockedTable = Table<NoMutex, std::scoped_lock<NoMutex>>;

/// Operation number i: a read, or in 100 - `reads` of every hundred a rewrite. Returns 1 if it saw a table half
/// rewritten, else 0.
template <typename AnyTable>
long operate(AnyTable& table, long i, long reads) {
  // 61 and 100 have no common divisor: the rewrites are spread evenly, and their number in every hundred is exact.
  if (i * 61 % 100 < reads) {
    const long sum = table.sum();
    cookbook::keep(sum);
    return sum != 0;
  }
  table.rewrite();
  return 0;
}

/// Runs member(t) in a thread for each t below `threads`, each bound to one processor if the system allows it. Else the
/// scheduler may keep them all on one, where they never meet at the lock. Whoever has the team waits for all.
template <typename Member>
std::vector<std::jthread> team_of(long threads, Member member) {
  const long processors = std::max(1L, static_cast<long>(std::thread::hardware_concurrency()));
  std::vector<std::jthread> team;
  for (long t = 0; t < threads; ++t) {
    team.emplace_back([=] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<std::size_t>(t % processors), &one);
      (void)sched_setaffinity(0, sizeof one, &one);
      member(t);
    });
  }
  return team;
}

/// Shares 100 x `hundreds` operations among the threads, at each share of reads, and checks what readers saw.
template <typename AnyTable>
void check_table(cookbook::Verdict& verdict, const std::string& lock, long threads, long hundreds) {
  AnyTable table(64);
  std::atomic<long> half_rewritten = 0;
  for (const long reads : {50, 90, 99, 100}) {
    team_of(threads, [&](long t) {
      long seen = 0;
      for (long i = t; i < 100 * hundreds; i += threads) seen += operate(table, i, reads);
      half_rewritten += seen;
    }).clear();
  }
  verdict.equal("tables seen half rewritten, " + lock, half_rewritten.load(), 0L);
  verdict.equal("rewrites, " + lock, table.rewrites(), hundreds * (50 + 10 + 1));
}

/// How many threads are inside for reading, if all try to get in and none leaves before all have tried.
template <typename ReadLock, typename Mutex>
long readers_at_once(Mutex& guard, long threads) {
  std::atomic<long> inside = 0;
  std::barrier tried(threads);
  team_of(threads, [&](long) {
    const ReadLock hold(guard, std::try_to_lock);
    inside += hold.owns_lock();
    tried.arrive_and_wait();
  }).clear();
  return inside;
}

/// Whether another thread than the caller gets in now; if so, it leaves again.
template <typename Lock>
bool another_gets_in(std::shared_mutex& guard) {
  return readers_at_once<Lock>(guard, 1) == 1;
}

/// Two readers take turns in leaving and coming back, so that one of them is always inside, and a writer waits. Returns
/// how often a reader came back: `limit` times, unless one was refused because of the writer.
long readers_before_a_writer(long limit) {
  std::shared_mutex guard;
  std::atomic<long> came_back = 0;
  std::atomic<bool> refused = false;
  std::latch both_inside(3);
  std::barrier turn(2);
  const auto readers = team_of(2, [&](long me) {
    ToRead hold(guard);
    both_inside.arrive_and_wait();
    for (long i = 0; i < limit; ++i) {
      turn.arrive_and_wait();
      if (i % 2 != me || refused) continue;
      hold.unlock();  // the other reader is still inside
      refused = !hold.try_lock();
      came_back += !refused;
    }
    turn.arrive_and_wait();  // nobody leaves for good before this
  });
  both_inside.arrive_and_wait();
  const ToWrite hold(guard);  // the writer
  return came_back;
}

/// Lets threads operate on a table for seven windows of time, after one that is not counted. Returns the seconds that
/// one operation took, over all threads.
template <typename AnyTable>
cookbook::Timing seconds_each(long numbers, long threads, long reads, std::chrono::milliseconds window) {
  AnyTable table(numbers);
  std::vector<double> seconds;
  for (int i = 0; i < 8; ++i) {
    std::atomic<bool> stop = false;
    std::atomic<long> operations = 0;
    std::latch ready(threads + 1);
    auto team = team_of(threads, [&](long t) {
      ready.arrive_and_wait();
      long done = 0;
      do {
        operate(table, 37 * t + done++, reads);
      } while (!stop);
      operations += done;
    });
    ready.arrive_and_wait();
    const cookbook::Stopwatch watch;
    std::this_thread::sleep_for(window);
    stop = true;
    team.clear();
    if (i > 0) seconds.push_back(watch.seconds() / static_cast<double>(operations));
  }
  return cookbook::timing_of(std::move(seconds));
}

/// Measures both locks at several shares of reads, and readers without a lock as their limit.
void compare(const cookbook::Verdict& verdict, const std::string& work, long numbers, long threads,
             std::chrono::milliseconds window) {
  if (!verdict.passed() || window.count() == 0) return;
  cookbook::Figures figures(work, cookbook::rate("M/s", 1e6));
  figures.add_limit("100 % reads, no lock", seconds_each<UnlockedTable>(numbers, threads, 100, window), 1);
  std::string ratios;
  for (const long reads : {50, 90, 99, 100}) {
    const auto plain = seconds_each<PlainTable>(numbers, threads, reads, window);
    const auto shared = seconds_each<SharedTable>(numbers, threads, reads, window);
    figures.add(fmt::format("{:3} % reads, mutex", reads), plain, 1);
    figures.add(fmt::format("{:3} % reads, shared_mutex", reads), shared, 1);
    ratios += fmt::format("{} {:.2f} x at {} %", ratios.empty() ? "" : ",", plain.median / shared.median, reads);
  }
  figures.print(verdict);
  cookbook::println("shared_mutex against mutex:{}", ratios);
}

}  // namespace

int main(int argc, char** argv) {
  long threads = std::clamp(std::thread::hardware_concurrency(), 2U, 64U);
  long numbers = 16'384, hundreds = 500, window_ms = 6;
  cookbook::Options options("Let many readers in at once, or one writer");
  options.add("threads", threads, "threads that read and rewrite", 1, 1'000);
  options.add("numbers", numbers, "numbers in the table where the work is long", 2, 10'000'000);
  options.add("hundreds", hundreds, "hundreds of operations that are checked, at each share of reads", 1, 100'000);
  options.add("window-ms", window_ms, "time of one measurement, eight for each row; 0 for none", 0, 10'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  {
    std::mutex plain;
    std::shared_mutex shared;
    verdict.equal("readers in a mutex at once", readers_at_once<std::unique_lock<std::mutex>>(plain, threads), 1L);
    verdict.equal("readers in a shared_mutex at once", readers_at_once<ToRead>(shared, threads), threads);
    ToRead reader(shared);
    verdict.equal("while one reads, another gets in to read", another_gets_in<ToRead>(shared), true);
    verdict.equal("while one reads, another gets in to write", another_gets_in<ToWrite>(shared), false);
    reader.unlock();
    const ToWrite writer(shared);
    verdict.equal("while one writes, another gets in to read", another_gets_in<ToRead>(shared), false);
    verdict.equal("while one writes, another gets in to write", another_gets_in<ToWrite>(shared), false);
  }

  check_table<PlainTable>(verdict, "mutex", threads, hundreds);
  check_table<SharedTable>(verdict, "shared_mutex", threads, hundreds);
  verdict.within("times that readers overtook a waiting writer", readers_before_a_writer(1'000), 0, 1'000);

  const std::chrono::milliseconds window(window_ms);
  compare(verdict, "Short work: 2 numbers", 2, threads, window);
  compare(verdict, fmt::format("Long work: {} numbers", numbers), numbers, threads, window);
  return verdict.exit_code();
}
