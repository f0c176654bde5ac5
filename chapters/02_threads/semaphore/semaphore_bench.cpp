// What a wake-up costs
//
// The time from release() until the other thread has gone on, if it sleeps until then: with std::counting_semaphore,
// with the class Semaphore, and with a mutex and a condition variable. For comparison a thread that looks again and
// again instead of sleeping (spinning). Then what acquire() and release() cost when nobody waits.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/semaphore/semaphore_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o semaphore_bench
// Run:     semaphore_bench [--rounds N] [--signals N]

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "semaphore_class.hpp"

namespace {

struct Condition {
  explicit Condition(int start) : permits(start) {}
  void acquire() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return permits > 0; });
    --permits;
  }
  void release() {
    std::scoped_lock lock(mutex);
    ++permits;
    changed.notify_one();
  }
  std::mutex mutex;
  std::condition_variable changed;
  int permits;
};

/// Looks again and again, so it is awake when the signal comes.
struct Spinning {
  explicit Spinning(int start) : semaphore(start) {}
  void acquire() {
    while (!semaphore.try_acquire()) {
    }
  }
  void release() { semaphore.release(); }
  Semaphore semaphore;
};

/// Waits until the thread sleeps, as one does that waits for a permit.
void wait_until_asleep(pid_t id) {
  const std::string file = "/proc/self/task/" + std::to_string(id) + "/stat";
  for (std::string state; state != "S";) {
    std::ifstream stat(file);
    stat >> state >> state >> state;
  }
}

/// The seconds from release() until the thread that waits in acquire() has gone on, for `signals` signals. The two
/// threads are pinned to two processors. Adds the signals that arrived to `arrived`.
template <typename Signal>
double until_gone_on(int signals, bool asleep, std::atomic<long>& arrived) {
  Signal signal(0);
  std::atomic<int> gone_on = 0;
  std::atomic<pid_t> waiting_thread = 0;
  double seconds = 0;
  std::jthread waiting([&] {
    cookbook::pin(1);
    waiting_thread = gettid();
    for (int i = 1; i <= signals; ++i) {
      signal.acquire();
      gone_on = i;
    }
  });
  std::jthread sending([&] {
    cookbook::pin(0);
    while (waiting_thread == 0) {
    }
    for (int i = 1; i <= signals; ++i) {
      if (asleep) wait_until_asleep(waiting_thread);
      const cookbook::Stopwatch watch;
      signal.release();
      while (gone_on < i) {
      }
      seconds += watch.seconds();
    }
  });
  waiting.join();
  sending.join();
  arrived += gone_on;
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 21, signals = 200;
  cookbook::Options options("Cost of a signal between two threads");
  options.add("rounds", rounds, "rounds in which each row runs once", 1, 1000);
  options.add("signals", signals, "signals in one run of a row", 10, 1'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::atomic<long> arrived = 0;
  long sent = 0;
  std::vector<cookbook::Benchmark> rows;
  const auto add = [&]<typename Signal>(const std::string& name, bool asleep, std::type_identity<Signal>) {
    rows.emplace_back(name, signals, [&, asleep] {
      sent += signals;
      return until_gone_on<Signal>(signals, asleep, arrived);
    });
  };
  add("std::counting_semaphore", true, std::type_identity<std::counting_semaphore<>>());
  add("Semaphore", true, std::type_identity<Semaphore>());
  add("mutex and condition variable", true, std::type_identity<Condition>());
  add("Semaphore, spinning", false, std::type_identity<Spinning>());
  cookbook::Figures wake_up("from release() until the waiting thread goes on", cookbook::cost("us", 1e-6));
  wake_up.measure(rows, rounds);
  checks.equal("signals that arrived", arrived.load(), sent);
  wake_up.print(checks);

  std::counting_semaphore<> library(1);
  Semaphore semaphore(1);
  std::mutex mutex;
  const int calls = 100 * signals;
  const auto repeat = [calls](auto call) {
    return [=] {
      for (int i = 0; i < calls; ++i) call();
    };
  };
  cookbook::Figures alone("acquire and release, nobody waits", cookbook::cost("ns", 1e-9));
  alone.measure({{"std::counting_semaphore", double(calls), repeat([&] { library.acquire(), library.release(); })},
                 {"Semaphore", double(calls), repeat([&] { semaphore.acquire(), semaphore.release(); })},
                 {"std::mutex", double(calls), repeat([&] { mutex.lock(), mutex.unlock(); })}},
                rounds);
  alone.speedup_over("std::counting_semaphore", "library");
  checks.that("each has its permit back", library.try_acquire() && semaphore.try_acquire() && mutex.try_lock());
  mutex.unlock();
  alone.print(checks);
  return checks.exit_code();
}
