// Spin locks beside std::mutex, by the number of threads and the length of the locked section. Each thread does the
// section's work once more outside of the lock. The spin locks differ in one thing each: the first waits by exchanges,
// the second by loads, the third pauses after each load, and SpinLock yields as well.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/spin_lock/spin_lock_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o spin_lock_bench
// Run:     spin_lock_bench [--sections N] [--rounds N]

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"
#include "spin_lock.hpp"

namespace {

/// Waits by loads.
class LoadLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

/// Waits by loads and pauses, but never gives its core away.
class PauseLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

struct NoLock {
  void lock() {}
  void unlock() {}
};

/// Computes for `steps` steps, each of which needs the last one's result.
unsigned long work(unsigned long value, int steps) {
  for (int i = 0; i < steps; ++i) value = value * 6364136223846793005 + 1442695040888963407;
  return value;
}

/// `threads` threads do `sections` sections each of `steps` steps. Returns the seconds, and counts the sections.
template <typename Lock>
double run_sections(int threads, long sections, int steps, long& counted) {
  alignas(64) Lock lock;
  alignas(64) long counter = 0;
  const double seconds = run_concurrently(threads, [&](int number) {
    auto inside = static_cast<unsigned long>(number), outside = inside;
    for (long i = 0; i < sections; ++i) {
      {
        const std::scoped_lock hold(lock);
        inside = work(inside, steps);
        if constexpr (!std::is_same_v<Lock, NoLock>) ++counter;
      }
      outside = work(outside, steps);
    }
    cookbook::do_not_optimize(inside + outside);
  });
  counted = std::is_same_v<Lock, NoLock> ? threads * sections : counter;
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  long sections = 30'000;
  int rounds = 9;
  cookbook::Options options("Measure a spin lock beside std::mutex");
  options.add("sections", sections, "locked sections of 10 steps per thread; a tenth of it for 1000 steps", 1000,
              10'000'000);
  options.add("rounds", rounds, "rounds", 1, 1000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::vector<cookbook::Figures> tables;
  long lost = 0;
  for (const int steps : {10, 1000}) {
    const long count = steps == 10 ? sections : sections / 10;
    for (const int threads : {1, 2, 4}) {
      const double amount = static_cast<double>(threads) * static_cast<double>(count);
      const auto row = [&](const std::string& name, auto run) {
        return cookbook::Benchmark(name, amount, [=, &lost] {
          long counted = 0;
          const double seconds = run(threads, count, steps, counted);
          lost += threads * count - counted;
          return seconds;
        });
      };
      tables.emplace_back(fmt::format("Threads: {}, steps: {}", threads, steps), cookbook::cost("ns", 1e-9));
      tables.back().measure({row("no lock", run_sections<NoLock>), row("std::mutex", run_sections<std::mutex>),
                             row("exchanges", run_sections<ExchangeLock>), row("loads", run_sections<LoadLock>),
                             row("loads, pauses", run_sections<PauseLock>), row("SpinLock", run_sections<SpinLock>)},
                            rounds);
      tables.back().percent_of("no lock");
      tables.back().speedup_over("std::mutex", "mutex");
    }
  }
  checks.equal("sections that were not counted", lost, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
