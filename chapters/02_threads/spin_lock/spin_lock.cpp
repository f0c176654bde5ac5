// What it costs to wait for a lock
//
// A std::mutex puts a thread that has to wait to sleep. A spin lock lets it look at the lock again and again. The
// program measures both, and the simplest spin lock there is: when nobody else wants the lock; from the release of the
// lock until a thread that has waited for it goes on; how long the processor has worked for that thread meanwhile; and
// when the holder and the waiting thread share one core. Each row has a lock that is much worse than the others.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/spin_lock/spin_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o spin_lock
// Run:     spin_lock [--threads N] [--rounds N]

#include "spin_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"

namespace {

using cookbook::Stopwatch;

/// The seconds that lock() and unlock() take if no other thread wants the lock.
template <typename Lock>
double alone() {
  constexpr int sections = 100'000;
  Lock lock;
  return run_concurrently(1,
                          [&](int) {  // in a second thread: before there is one, glibc's mutex does less
                            for (int i = 0; i < sections; ++i) const std::scoped_lock hold(lock);
                          }) /
         sections;
}

/// The seconds for which processors have worked for the calling thread.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Wait {
  double handover;   ///< the seconds from the unlock() of one thread until the lock() of another one has returned
  double processor;  ///< the processor_seconds() of that lock()
};

/// One thread holds the lock for a millisecond, and another waits for it on another core.
template <typename Lock>
Wait wait_for_it() {
  Lock lock;
  std::atomic<bool> taken = false;
  Stopwatch since_unlock;
  Wait seconds{};
  run_concurrently(2, [&](int thread) {
    if (thread == 0) {
      lock.lock();
      taken = true;
      const Stopwatch watch;
      spin_until([&] { return watch.seconds() > 1e-3; });
      since_unlock = Stopwatch();
      lock.unlock();
    } else {
      spin_until([&] { return taken.load(); });
      const double before = processor_seconds();
      const std::scoped_lock hold(lock);
      seconds = {since_unlock.seconds(), processor_seconds() - before};
    }
  });
  return seconds;
}

template <typename Lock>
double handover() {
  return wait_for_it<Lock>().handover;
}

template <typename Lock>
double processor() {
  return wait_for_it<Lock>().processor;
}

/// The seconds per section of two threads on one core. Each loses the core in the middle of each section.
template <typename Lock>
double on_one_core() {
  constexpr int sections = 10;
  Lock lock;
  std::atomic<int> missing = 2;
  const auto work = [&](double& seconds) {
    cookbook::pin(0);
    --missing;
    while (missing > 0) std::this_thread::yield();  // begin together
    const Stopwatch watch;
    for (int i = 0; i < sections; ++i) {
      const std::scoped_lock hold(lock);
      std::this_thread::yield();  // the system may take the core away at any time; here it does so at the worst
    }
    seconds = watch.seconds();
  };
  double one = 0, two = 0;
  { std::jthread first(work, std::ref(one)), second(work, std::ref(two)); }
  return std::max(one, two) / (2 * sections);
}

/// Prints a row: the median of five measurements for each of three locks.
void compare(const char* what, const char* unit, double per_second, std::array<double (*)(), 3> forms) {
  std::string row = fmt::format("{:<36}", what);
  for (const auto form : forms) {
    std::array<double, 5> seconds;
    for (double& time : seconds) time = form();
    std::sort(seconds.begin(), seconds.end());
    row += fmt::format("{:12.1f} {}", seconds[2] * per_second, unit);
  }
  cookbook::print_line(row);
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

  cookbook::println("{:36}     std::mutex   ExchangeLock       SpinLock", "");
  compare("lock and unlock, nobody waits", "ns", 1e9, {alone<std::mutex>, alone<ExchangeLock>, alone<SpinLock>});
  compare("from unlock to the waiting thread", "us", 1e6,
          {handover<std::mutex>, handover<ExchangeLock>, handover<SpinLock>});
  compare("processor's work for a wait of 1 ms", "us", 1e6,
          {processor<std::mutex>, processor<ExchangeLock>, processor<SpinLock>});
  compare("two threads on one core, per section", "us", 1e6,
          {on_one_core<std::mutex>, on_one_core<ExchangeLock>, on_one_core<SpinLock>});

  cookbook::Checks checks;
  checks.equal("additions under the SpinLock that were counted", count(threads, rounds), threads * rounds);
  return checks.exit_code();
}
