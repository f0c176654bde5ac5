// Semaphore
//
// A semaphore is a number of permits: acquire() takes one and waits while there is none, release() gives one back.
// To take one is two steps, a test and a decrement, which must be one: a replay of two threads shows what happens
// otherwise, and the class below it does it right. Then a semaphore that starts at 0 hands items from a producer to a
// consumer, one that starts at 1 is a lock, and the cost of waiting is measured beside std::counting_semaphore.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/semaphore/semaphore.cpp common/cookbook/*.cpp -lfmt -pthread -o semaphore
// Run:     semaphore [--rounds N] [--seed N] [--delay-ms N] [--changes N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "wake_cost.hpp"

namespace {

/// Two threads want the only permit, by Dijkstra's rule: decrement the value, then wait if it is negative. `turns`
/// says which thread makes the next step, such as "1221". Returns how many go on, how many wait, and the value.
std::vector<int> replay(std::string_view turns, bool aloud) {
  int value = 1, going = 0, waiting = 0;
  bool has_decremented[] = {false, false};
  for (const char thread : turns) {
    bool& second_step = has_decremented[thread - '1'];
    if (!second_step) {
      --value;
      if (aloud) cookbook::println("thread {} decrements to {}", thread, value);
    } else {
      ++(value < 0 ? waiting : going);
      if (aloud) cookbook::println("thread {} tests {} and {}", thread, value, value < 0 ? "waits" : "goes on");
    }
    second_step = true;
  }
  return {going, waiting, value};
}

/// A semaphore out of one atomic number. It takes a permit by a compare-and-exchange: test and decrement in one step.
class Semaphore {
 public:
  /// `spins`: how often acquire() looks again before it lets the system put the thread to sleep.
  explicit Semaphore(int permits, int spins = 0) : permits_(permits), spins_(spins) {
    if (permits < 0) throw std::invalid_argument("a semaphore cannot start below 0");
  }

  bool try_acquire() {
    int seen = permits_.load(std::memory_order_relaxed);
    while (seen > 0) {
      // If the number is no longer `seen`, this changes nothing but `seen`, and the loop tests again.
      if (permits_.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire)) return true;
    }
    return false;
  }

  void acquire() {
    for (int i = 0; i < spins_; ++i) {
      if (try_acquire()) return;
    }
    while (!try_acquire()) permits_.wait(0);  // sleeps only while the number is 0, so no release() is missed
  }

  void release() {
    permits_.fetch_add(1);
    permits_.notify_one();
  }

 private:
  std::atomic<int> permits_;
  const int spins_;
};

bool is_refused(int permits) {
  try {
    Semaphore semaphore(permits);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

/// The items that a producer with this seed makes.
std::vector<int> drawn(int rounds, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(0, 1000);  // both ends included
  std::vector<int> items;
  for (int i = 0; i < rounds; ++i) items.push_back(number(random));
  return items;
}

/// The same items, handed from one thread to another. Adds to `left` the permits that are still there after a round.
std::vector<int> handed_over(int rounds, unsigned seed, std::chrono::milliseconds delay, int& left) {
  std::counting_semaphore<> wanted(0), made(0);
  int item = -1;  // no atomic: release() publishes what was written before it to whoever acquires
  std::vector<int> consumed;
  std::jthread producer([&] {
    for (const int next : drawn(rounds, seed)) {
      wanted.acquire();
      std::this_thread::sleep_for(delay);
      item = next;
      cookbook::println("produced item {}", item);
      made.release();
    }
  });
  std::jthread consumer([&] {
    for (int i = 0; i < rounds; ++i) {
      cookbook::println("consumer waits for item {}", i + 1);
      wanted.release();
      made.acquire();
      cookbook::println("consumed item {}", item);
      consumed.push_back(item);
      left += made.try_acquire();
    }
  });
  producer.join();
  consumer.join();
  return consumed;
}

/// A semaphore as a lock: it starts at 1, so one thread at a time gets past acquire().
long counted_by_two(long changes) {
  Semaphore gate(1);
  long counter = 0;
  const auto count = [&] {
    for (long i = 0; i < changes; ++i) {
      gate.acquire();
      ++counter;
      gate.release();
    }
  };
  std::jthread first(count), second(count);
  first.join();
  second.join();
  return counter;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 5, delay_ms = 1;
  unsigned seed = 2;
  long changes = 100'000;
  cookbook::Options options("Hand items over and count permits with a semaphore");
  options.add("rounds", rounds, "items handed over", 1, 10'000);
  options.add("seed", seed, "seed of the random items", 0, 1'000'000'000);
  options.add("delay-ms", delay_ms, "time to make an item", 0, 10'000);
  options.add("changes", changes, "changes that each of two threads makes under the semaphore", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  verdict.equal("two steps: going on, waiting, value", replay("1221", true), {0, 2, -1});
  verdict.equal("one step: going on, waiting, value", replay("1122", true), {1, 1, -1});
  int orders = 0, nobody_goes_on = 0;
  std::string turns = "1122";
  do {
    ++orders;
    nobody_goes_on += replay(turns, false)[0] == 0;
  } while (std::next_permutation(turns.begin(), turns.end()));
  verdict.equal(fmt::format("orders, of {}, in which nobody goes on", orders), nobody_goes_on, 4);

  int left = 0;
  verdict.equal("items consumed", handed_over(rounds, seed, std::chrono::milliseconds(delay_ms), left),
                drawn(rounds, seed));
  verdict.equal("permits left after the rounds", left, 0);

  verdict.equal("counter of two threads under a semaphore", counted_by_two(changes), 2 * changes);
  verdict.equal("a start below 0 is refused", is_refused(-1), true);
  Semaphore pool(3);
  int granted = 0;
  for (int i = 0; i < 5; ++i) granted += pool.try_acquire();
  verdict.equal("granted at once, of 5 attempts on 3 permits", granted, 3);

  using wake_cost::alone, wake_cost::there_and_back, wake_cost::trips, wake_cost::calls;
  using Library = std::counting_semaphore<>;
  constexpr int spins = 10'000;  // about as long as the system takes to wake a thread
  cookbook::Figures signals("signal there and back", cookbook::cost("us", 1e-6));
  signals.add_peer("two processors, std::counting_semaphore", there_and_back<Library>(true, 0), trips);
  signals.add("two processors, Semaphore", there_and_back<Semaphore>(true, 0), trips);
  signals.add("two processors, Semaphore that spins", there_and_back<Semaphore>(true, 0, spins), trips);
  signals.add("one processor, std::counting_semaphore", there_and_back<Library>(false, 0), trips);
  signals.add("one processor, Semaphore", there_and_back<Semaphore>(false, 0), trips);
  signals.add("one processor, Semaphore that spins", there_and_back<Semaphore>(false, 0, spins), trips);
  signals.print(verdict);

  Library library(1);
  Semaphore semaphore(1);
  std::mutex mutex;
  cookbook::Figures unhindered("acquire and release, no wait", cookbook::cost("ns", 1e-9));
  unhindered.add_peer("std::counting_semaphore", alone([&] { library.acquire(); }, [&] { library.release(); }), calls);
  unhindered.add("Semaphore", alone([&] { semaphore.acquire(); }, [&] { semaphore.release(); }), calls);
  unhindered.add("std::mutex", alone([&] { mutex.lock(); }, [&] { mutex.unlock(); }), calls);
  unhindered.print(verdict);
  return verdict.exit_code();
}
