// Spin or sleep?
//
// A thread that has to wait for a std::mutex sleeps. A spin lock lets it look at the lock again and again. The program
// measures both, for waits from 2 to 200 us: how long a processor works for the waiting thread, and how long after the
// unlock() this thread goes on. Up to a wait of about the time that it takes to sleep and to be woken, spinning is the
// cheaper way. The second table is about two threads on one core, where a spin lock has to give the core away.
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
      const double after_unlock = since_unlock.seconds(), all = since_call.seconds();
      wait = {all - after_unlock, after_unlock, processor_seconds() - processor};
      lock.unlock();
    }
  });
  return wait;
}

/// The medians of 15 such waits.
template <typename Lock>
Wait median_wait(int cores, double hold) {
  std::vector<double> until_unlock, after_unlock, processor;
  for (int run = 0; run < 15; ++run) {
    const Wait wait = wait_for_it<Lock>(cores, hold);
    until_unlock.push_back(wait.until_unlock);
    after_unlock.push_back(wait.after_unlock);
    processor.push_back(wait.processor);
  }
  const auto median = [](const std::vector<double>& seconds) { return cookbook::timing_of(seconds).median; };
  return {median(until_unlock), median(after_unlock), median(processor)};
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

  cookbook::println("                   processor time of the wait      from unlock() until it goes on");
  cookbook::println("lock held for     std::mutex       SpinLock       std::mutex       SpinLock");
  for (const double us : {2, 20, 200}) {
    const Wait sleeps = median_wait<std::mutex>(2, us * 1e-6), spins = median_wait<SpinLock>(2, us * 1e-6);
    cookbook::println("{:>10} us{:12.1f} us{:12.1f} us{:14.1f} us{:12.1f} us", us, sleeps.processor * 1e6,
                      spins.processor * 1e6, sleeps.after_unlock * 1e6, spins.after_unlock * 1e6);
  }
  const auto until_unlock = [](auto wait) { return wait(1, 0).until_unlock * 1e6; };
  const double mutex = until_unlock(median_wait<std::mutex>), spin = until_unlock(median_wait<SpinLock>),
               exchange = until_unlock(median_wait<ExchangeLock>);
  cookbook::println("both threads on one core           the holder can unlock after");
  cookbook::println("std::mutex{:>35.1f} us", mutex);
  cookbook::println("SpinLock{:>37.1f} us", spin);
  cookbook::println("ExchangeLock, which never yields{:>13.1f} us", exchange);

  cookbook::Checks checks;
  checks.equal("additions under the SpinLock that were counted", count(threads, rounds), threads * rounds);
  return checks.exit_code();
}
