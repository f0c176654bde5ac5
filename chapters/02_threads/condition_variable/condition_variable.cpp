// Condition variable
//
// A mutex lets a thread look at shared data, but the thread cannot sleep there until the data has changed. A consumer
// waits for an item in three ways: it looks again and again, it looks every 10 ms, it sleeps at a condition variable.
// How often does it look, how late is it, and how much of the processor does it use? Then a producer and a consumer
// pass two items through a buffer for one, at two condition variables; they print what they do under the lock, so these
// lines come in the order of events.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/condition_variable/condition_variable.cpp common/cookbook/*.cpp -lfmt -pthread -o condition_variable
// Run:     condition_variable [--items N] [--capacity N] [--threads N]

#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Condition = std::function<bool()>;

constexpr auto item_comes_after = 95ms;

// Three ways to wait until `there_is_an_item` holds. The caller has the lock, which protects the buffer, and has it
// again afterwards. In between the producer needs it.

void look_again_and_again(std::unique_lock<std::mutex>& lock, std::condition_variable&,
                          const Condition& there_is_an_item) {
  while (!there_is_an_item()) {
    lock.unlock();
    do {
      std::this_thread::yield();  // lets another thread of its priority have the processor
    } while (!lock.try_lock());   // never sleeps; lock() would, if the producer has the mutex
  }
}

void look_every_10_ms(std::unique_lock<std::mutex>& lock, std::condition_variable&, const Condition& there_is_an_item) {
  while (!there_is_an_item()) {
    lock.unlock();
    std::this_thread::sleep_for(10ms);
    lock.lock();
  }
}

void sleep_until_notified(std::unique_lock<std::mutex>& lock, std::condition_variable& not_empty,
                          const Condition& there_is_an_item) {
  not_empty.wait(lock, there_is_an_item);
}

double processor_ms_of_this_thread() {
  timespec used = {};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) cookbook::exit_with_errno("clock_gettime");
  return used.tv_sec * 1e3 + used.tv_nsec / 1e6;
}

/// A consumer waits for an item, which comes after 95 ms. Prints how often it looks into the buffer, how much later
/// than the item it goes on, and its processor time.
void print_cost(const char* how, auto wait_until) {
  std::mutex mutex;
  std::condition_variable not_empty;
  std::deque<int> buffer;
  Clock::time_point put;
  std::jthread consumer([&] {
    long looks = 0;
    std::unique_lock lock(mutex);
    wait_until(lock, not_empty, [&] {
      ++looks;
      return !buffer.empty();
    });
    const double late = std::chrono::duration<double, std::milli>(Clock::now() - put).count();
    cookbook::println("{:<30}{:>8}{:12.3f} ms later{:14.2f} ms", how, looks, late, processor_ms_of_this_thread());
  });
  std::this_thread::sleep_for(item_comes_after);
  std::scoped_lock lock(mutex);
  buffer.push_back(1);
  put = Clock::now();
  not_empty.notify_one();
}

}  // namespace

int main(int argc, char** argv) {
  int items = 2, threads = 1;
  std::size_t capacity = 1;
  cookbook::Options options("Wait until a condition holds");
  options.add("items", items, "items that each producer puts, and each consumer takes", 1, 10'000);
  options.add("capacity", capacity, "items that the buffer can hold", 1, 10'000);
  options.add("threads", threads, "producers, and as many consumers", 1, 64);
  options.parse(argc, argv);

  cookbook::println("an item comes after {:<10}{:>8}{:>21}{:>17}", fmt::format("{} ms", item_comes_after.count()),
                    "looks", "goes on", "processor time");
  print_cost("looks again and again", look_again_and_again);
  print_cost("looks every 10 ms", look_every_10_ms);
  print_cost("waits at a condition variable", sleep_until_notified);

  std::mutex mutex;  // protects everything up to `taken`
  std::condition_variable not_full, not_empty;
  std::deque<int> buffer;
  std::size_t most = 0;
  std::vector<int> taken;

  const auto produce = [&](int first_item) {
    for (int item = first_item; item < first_item + items; ++item) {
      std::unique_lock lock(mutex);
      not_full.wait(lock, [&] { return buffer.size() < capacity; });  // unlocks the mutex while it sleeps
      buffer.push_back(item);
      most = std::max(most, buffer.size());
      cookbook::println("put {}, the buffer holds {}", item, buffer.size());
      not_empty.notify_one();
    }
  };
  const auto consume = [&] {
    for (int i = 0; i < items; ++i) {
      std::unique_lock lock(mutex);
      not_empty.wait(lock, [&] { return !buffer.empty(); });
      taken.push_back(buffer.front());
      buffer.pop_front();
      cookbook::println("took {}, the buffer holds {}", taken.back(), buffer.size());
      not_full.notify_one();
    }
  };

  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back(produce, i * items);
    running.emplace_back(consume);
  }
  running.clear();  // waits for the threads

  std::vector<int> expected(items * threads);
  std::iota(expected.begin(), expected.end(), 0);
  std::sort(taken.begin(), taken.end());

  cookbook::Checks checks;
  checks.that("every item was taken exactly once", taken == expected);
  checks.within("most items in the buffer at the same time", most, 1, capacity);
  return checks.exit_code();
}
