// Condition variable
//
// A producer puts items into a buffer that holds ten, and a consumer takes them out. The producer must wait while the
// buffer is full, the consumer while it is empty. A mutex alone cannot wait for that; a condition variable can. Each
// line of output is printed under the lock, so the lines come in the order in which things happened.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/condition_variable/condition_variable.cpp common/cookbook/*.cpp -lfmt -pthread -o condition_variable
// Run:     condition_variable [--items N] [--capacity N] [--threads N]

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

int main(int argc, char** argv) {
  int items = 20, threads = 1;
  std::size_t capacity = 10;
  cookbook::Options options("Wait until a condition holds");
  options.add("items", items, "items that each producer puts, and each consumer takes", 1, 10'000);
  options.add("capacity", capacity, "items that the buffer can hold", 1, 10'000);
  options.add("threads", threads, "producers, and as many consumers", 1, 64);
  options.parse(argc, argv);

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
  checks.equal("items left in the buffer", buffer.size(), 0U);
  checks.within("most items in the buffer at the same time", most, 1, capacity);
  return checks.exit_code();
}
