// What it costs to wait for a lock
//
// A thread that has to wait for a std::mutex sleeps. A spin lock lets it look at the lock again and again. The program
// measures both, and the simplest spin lock there is: lock() and unlock() when no other thread wants the lock; a wait
// of a millisecond, how long after the release the waiting thread goes on and how long a processor has worked for it;
// and, where both share one core, how long the holder is kept from unlocking.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/spin_lock/spin_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o spin_lock
// Run:     spin_lock [--threads N] [--rounds N]

#include "spin_lock.hpp"

#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "run_concurrently.hpp"

namespace {

using cookbook::Stopwatch;

/// The seconds that lock() and unlock() take together while no other thread wants the lock.
template <typename Lock>
double lock_and_unlock() {
  constexpr int times = 100'000;
  Lock lock;
  const auto repeat = [&](int) {
    for (int i = 0; i < times; ++i) {
      lock.lock();
      lock.unlock();
    }
  };
  return run_concurrently(1, repeat) / times;  // in a second thread: before there is one, glibc's mutex does less
}

/// The seconds for which a processor has worked for the calling thread.
double processor_seconds() {
  timespec time{};
  check(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), "clock_gettime");
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// How a thread has waited in lock(). All in seconds.
struct Wait {
  double until_unlock;  ///< from the call until the holder's unlock()
  double after_unlock;  ///< from the unlock() until the call has returned
  double processor;     ///< what a processor has worked for the thread meanwhile
};

/// One thread holds the lock for `hold` seconds after another one has come for it. They run on one core or on two.
template <typename Lock>
Wait wait_for_it(int cores, double hold) {
  Lock lock;
  std::atomic<bool> taken = false, wanted = false;
  Stopwatch since_unlock;
  Wait wait{};
  run_concurrently(2, [&](int thread) {
    cookbook::pin(thread % cores);
    if (thread == 0) {
      lock.lock();
      taken = true;
      spin_until([&] { return wanted.load(); });  // on one core, the other thread has the core now
      const Stopwatch watch;
      spin_until([&] { return watch.seconds() > hold; });
      since_unlock = Stopwatch();
      lock.unlock();
    } else {
      spin_until([&] { return taken.load(); });
      const double processor = processor_seconds();
      const Stopwatch since_call;
      wanted = true;
      lock.lock();
      const double all = since_call.seconds(), after_unlock = since_unlock.seconds();
      wait = {all - after_unlock, after_unlock, processor_seconds() - processor};
      lock.unlock();
    }
  });
  return wait;
}

struct Costs {
  double nobody_waits, after_unlock, processor, one_core;  // in seconds, see main()
};

/// The medians of five measurements.
template <typename Lock>
Costs measure() {
  std::vector<double> nobody_waits, after_unlock, processor, one_core;
  for (int run = 0; run < 5; ++run) {
    nobody_waits.push_back(lock_and_unlock<Lock>());
    const Wait wait = wait_for_it<Lock>(2, 1e-3);
    after_unlock.push_back(wait.after_unlock);
    processor.push_back(wait.processor);
    one_core.push_back(wait_for_it<Lock>(1, 0).until_unlock);
  }
  const auto median = [](const std::vector<double>& seconds) { return cookbook::timing_of(seconds).median; };
  return {median(nobody_waits), median(after_unlock), median(processor), median(one_core)};
}

/// Each of the threads adds 1 to one counter, `rounds` times.
long count(int threads, long rounds) {
  long counter = 0;
  SpinLock lock;  // guards the counter
  run_concurrently(threads, [&](int) {
    for (long round = 0; round < rounds; ++round) {
      const std::scoped_lock hold(lock);
      ++counter;
    }
  });
  return counter;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  long rounds = 50'000;
  cookbook::Options options("Measure what it costs to wait for a mutex and for spin locks");
  options.add("threads", threads, "threads that add to the counter", 1, 64);
  options.add("rounds", rounds, "additions per thread", 1, 10'000'000);
  options.parse(argc, argv);

  const Costs mutex = measure<std::mutex>(), exchange = measure<ExchangeLock>(), spin = measure<SpinLock>();
  const auto row = [](const char* what, const char* unit, double in_mutex, double in_exchange, double in_spin) {
    const double per_second = unit[0] == 'n' ? 1e9 : 1e6;
    cookbook::println("{:<38}{:10.1f} {}{:12.1f} {}{:12.1f} {}", what, in_mutex * per_second, unit,
                      in_exchange * per_second, unit, in_spin * per_second, unit);
  };
  cookbook::println("{:38}   std::mutex   ExchangeLock       SpinLock", "");
  row("lock and unlock, nobody waits", "ns", mutex.nobody_waits, exchange.nobody_waits, spin.nobody_waits);
  row("from unlock to the waiting thread", "us", mutex.after_unlock, exchange.after_unlock, spin.after_unlock);
  row("processor's work for a wait of 1 ms", "us", mutex.processor, exchange.processor, spin.processor);
  row("one core: until the holder can unlock", "us", mutex.one_core, exchange.one_core, spin.one_core);

  cookbook::Checks checks;
  checks.equal("additions under the SpinLock that were counted", count(threads, rounds), threads * rounds);
  return checks.exit_code();
}
