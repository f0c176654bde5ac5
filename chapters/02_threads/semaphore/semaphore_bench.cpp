// What a wake-up costs
//
// A signal goes to another thread and back, by std::counting_semaphore, by a mutex with a condition variable, and by a
// number that the other thread watches without sleeping (spinning); the two threads on two processors, and both on one.
// Then what acquire() and release() cost when nobody waits.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/semaphore/semaphore_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o semaphore_bench
// Run:     semaphore_bench [--rounds N] [--signals N]

#include <atomic>
#include <condition_variable>
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

/// Never sleeps. After 1000 looks in vain it lets another thread have the processor: that may be the one it waits for.
struct Spinning {
  explicit Spinning(int start) : semaphore(start) {}
  void acquire() {
    for (int looks = 1; !semaphore.try_acquire(); ++looks) {
      if (looks % 1000 == 0) std::this_thread::yield();
    }
  }
  void release() { semaphore.release(); }
  Semaphore semaphore;
};

/// The seconds that `signals` signals there and back take. Adds the signals that arrived to `arrived`.
template <typename Signal>
double there_and_back(int signals, bool two_processors, std::atomic<long>& arrived) {
  Signal there(0), back(0);
  double seconds = 0;
  {
    std::jthread answering([&] {
      cookbook::pin(0);
      for (int i = 0; i <= signals; ++i) {
        there.acquire();
        ++arrived;
        back.release();
      }
    });
    std::jthread asking([&] {
      cookbook::pin(two_processors ? 1 : 0);
      const auto ask = [&] {
        there.release();
        back.acquire();
      };
      ask();  // now both threads run where they are pinned
      const cookbook::Stopwatch watch;
      for (int i = 0; i < signals; ++i) ask();
      seconds = watch.seconds();
    });
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 21, signals = 1000;
  cookbook::Options options("Cost of a signal between two threads");
  options.add("rounds", rounds, "rounds in which each row runs once", 1, 1000);
  options.add("signals", signals, "signals there and back in one run of a row", 10, 1'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::atomic<long> arrived = 0;
  long sent = 0;
  std::vector<cookbook::Benchmark> rows;
  const auto add = [&]<typename Signal>(const std::string& name, std::type_identity<Signal>) {
    for (const bool two : {true, false}) {
      rows.emplace_back((two ? "two processors, " : "one processor, ") + name, signals, [&, two] {
        sent += signals + 1;
        return there_and_back<Signal>(signals, two, arrived);
      });
    }
  };
  add("std::counting_semaphore", std::type_identity<std::counting_semaphore<>>());
  add("Semaphore", std::type_identity<Semaphore>());
  add("mutex and condition variable", std::type_identity<Condition>());
  add("spinning", std::type_identity<Spinning>());
  cookbook::Figures there("signal there and back", cookbook::cost("us", 1e-6));
  there.measure(rows, rounds);
  checks.equal("signals that arrived", arrived.load(), sent);
  there.print(checks);

  std::counting_semaphore<> library(1);
  Semaphore semaphore(1);
  std::mutex mutex;
  const int calls = 10 * signals;
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
