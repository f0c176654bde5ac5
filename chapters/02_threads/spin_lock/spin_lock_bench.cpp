// A spin lock beside std::mutex, by the number of threads and the length of the locked section; and a sequence lock
// beside std::shared_mutex. Each thread does the section's work once more outside of the lock.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/spin_lock/spin_lock_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o spin_lock_bench
// Run:     spin_lock_bench [--sections N] [--rounds N]

#include <array>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"
#include "sequence_lock.hpp"
#include "spin_lock.hpp"

namespace {

/// The simplest spin lock: it exchanges until it gets the lock.
class ExchangeLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

/// Looks with loads and pauses, but never gives its core away.
class PauseLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
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

using Three = std::array<long, 3>;

/// Three numbers behind a lock; `Read` is how a reader takes it.
template <typename Mutex, typename Read>
class Locked {
 public:
  void write(const Three& value) {
    const std::scoped_lock hold(mutex_);
    value_ = value;
  }
  Three read() {
    const Read hold(mutex_);
    return value_;
  }

 private:
  Mutex mutex_;
  Three value_{};
};

/// One thread reads three numbers, `readings` times, while another changes them. Returns the seconds.
template <typename Numbers>
double run_readings(long readings, long& mixed) {
  alignas(64) Numbers numbers;
  std::atomic<bool> done = false;
  std::atomic<long> wrong = 0;
  std::jthread writer([&] {
    cookbook::pin(1);
    for (long i = 1; !done; ++i) {
      numbers.write({i, 2 * i, 3 * i});
      cookbook::do_not_optimize(work(1, 1000));
    }
  });
  const double seconds = run_concurrently(1, [&](int) {
    for (long i = 0; i < readings; ++i) {
      const auto [one, two, three] = numbers.read();
      if (two != 2 * one || three != 3 * one) ++wrong;
    }
  });
  done = true;
  writer.join();
  mixed += wrong;
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  long sections = 100'000;
  int rounds = 9;
  cookbook::Options options("Measure a spin lock beside std::mutex");
  options.add("sections", sections, "locked sections of 10 steps per thread; a tenth of it for 1000 steps", 1000,
              10'000'000);
  options.add("rounds", rounds, "rounds", 1, 1000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::vector<cookbook::Figures> tables;
  long lost = 0, mixed = 0;
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
                             row("spin lock", run_sections<SpinLock>), row("exchange only", run_sections<ExchangeLock>),
                             row("never yields", run_sections<PauseLock>)},
                            rounds);
      tables.back().percent_of("no lock");
      tables.back().speedup_over("std::mutex", "mutex");
    }
  }
  const auto row = [&](const std::string& name, auto run) {
    return cookbook::Benchmark(name, static_cast<double>(sections), [=, &mixed] { return run(sections, mixed); });
  };
  using ByMutex = Locked<std::mutex, std::scoped_lock<std::mutex>>;
  using BySpinLock = Locked<SpinLock, std::scoped_lock<SpinLock>>;
  using BySharedMutex = Locked<std::shared_mutex, std::shared_lock<std::shared_mutex>>;
  tables.emplace_back("Read three numbers", cookbook::cost("ns", 1e-9));
  tables.back().measure(
      {row("sequence lock", run_readings<SequenceLock<3>>), row("spin lock", run_readings<BySpinLock>),
       row("std::mutex", run_readings<ByMutex>), row("std::shared_mutex", run_readings<BySharedMutex>)},
      rounds);
  tables.back().speedup_over("std::shared_mutex", "shared");

  checks.equal("sections that were not counted", lost, 0L);
  checks.equal("readings that mixed old and new numbers", mixed, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
