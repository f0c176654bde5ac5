// Spin or sleep?
//
// A thread that has to wait for a std::mutex sleeps. A spin lock lets it look at the lock again and again. The program
// measures both, for locks that are held from 2 to 200 us: how long a processor works for the waiting thread, how long
// the holder's unlock() takes, and how long after it the waiting thread goes on. The last lines are about two threads
// on one core, where a spin lock has to give the core away.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/spin_lock/spin_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o spin_lock
// Run:     spin_lock [--waits N]

#include "spin_lock.hpp"

#include <atomic>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
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
  double unlock;        ///< how long unlock() takes the holder
  double after_unlock;  ///< from the beginning of unlock() until the call has returned
  double processor;     ///< what a processor has worked for the waiting thread from its call to its return
};

/// One thread holds the lock for `hold` seconds after another one has come for it. They run on one core or on two.
template <typename Lock>
Wait wait_for_it(int cores, double hold) {
  Lock lock;
  std::atomic<bool> taken = false, wanted = false;
  Stopwatch since_unlock;
  Wait wait{};  // the holder writes one of its numbers, and the waiting thread the others
  run_concurrently(2, [&](int thread) {
    cookbook::pin(thread % cores);
    if (thread == 0) {
      lock.lock();
      taken = true;
      spin_until([&] { return wanted.load(); });  // yields after 100 looks: on one core, the other thread has it now
      const Stopwatch watch;
      spin_until([&] { return watch.seconds() > hold; });
      since_unlock = Stopwatch();
      lock.unlock();
      wait.unlock = since_unlock.seconds();
    } else {
      spin_until([&] { return taken.load(); });
      const double processor = processor_seconds();
      const Stopwatch since_call;
      wanted = true;
      lock.lock();
      const double after_unlock = since_unlock.seconds(), all = since_call.seconds();
      wait.processor = processor_seconds() - processor;
      wait.until_unlock = all - after_unlock;
      wait.after_unlock = after_unlock;
      lock.unlock();
    }
  });
  return wait;
}

/// The medians of so many waits. Clears `right` if a thread has waited shorter than the lock was held.
template <typename Lock>
Wait median_wait(int waits, int cores, double hold, bool& right) {
  std::vector<double> until_unlock, unlock, after_unlock, processor;
  for (int run = 0; run < waits; ++run) {
    const Wait wait = wait_for_it<Lock>(cores, hold);
    right = right && wait.until_unlock >= hold;
    until_unlock.push_back(wait.until_unlock);
    unlock.push_back(wait.unlock);
    after_unlock.push_back(wait.after_unlock);
    processor.push_back(wait.processor);
  }
  const auto median = [](const std::vector<double>& seconds) { return cookbook::timing_of(seconds).median; };
  return {median(until_unlock), median(unlock), median(after_unlock), median(processor)};
}

/// Prints one of the four times of each wait, in microseconds.
void print_row(const char* name, const std::vector<Wait>& waits, double Wait::*time) {
  std::string line = fmt::format("  {:<34}", name);
  for (const Wait& wait : waits) line += fmt::format("{:10.1f} us", 1e6 * wait.*time);
  cookbook::println("{}", line);
}

}  // namespace

int main(int argc, char** argv) {
  int waits = 15;
  cookbook::Options options("Measure what it costs to wait for a mutex and for spin locks");
  options.add("waits", waits, "waits, of which each figure is the median", 1, 1'000);
  options.parse(argc, argv);

  bool right = true;
  std::vector<Wait> sleeps, spins;
  for (const double us : {2, 20, 200}) {
    sleeps.push_back(median_wait<std::mutex>(waits, 2, us * 1e-6, right));
    spins.push_back(median_wait<SpinLock>(waits, 2, us * 1e-6, right));
  }
  cookbook::println("two cores; the lock is held for           2 us        20 us       200 us");
  const auto print_rows = [&](const char* what, double Wait::*time) {
    cookbook::println("{}", what);
    print_row("std::mutex", sleeps, time);
    print_row("SpinLock", spins, time);
  };
  print_rows("a processor works for the waiting thread", &Wait::processor);
  print_rows("unlock() takes the holder", &Wait::unlock);
  print_rows("from unlock() until the waiting thread goes on", &Wait::after_unlock);

  cookbook::println("one core for both; the holder can unlock after");
  const Wait mutex = median_wait<std::mutex>(waits, 1, 0, right), spin = median_wait<SpinLock>(waits, 1, 0, right),
             exchange = median_wait<ExchangeLock>(waits, 1, 0, right);
  print_row("std::mutex", {mutex}, &Wait::until_unlock);
  print_row("SpinLock", {spin}, &Wait::until_unlock);
  print_row("ExchangeLock, which never yields", {exchange}, &Wait::until_unlock);

  cookbook::Checks checks;
  checks.that("every thread waited at least as long as the lock was held", right);
  return checks.exit_code();
}
