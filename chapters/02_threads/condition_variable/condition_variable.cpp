// Condition variable
//
// A producer and a consumer share a buffer of 10 places. The producer waits while it is full, the consumer while it is
// empty, each on a condition variable of its own over one mutex. 20 items pass through it: three times in a written
// order of turns, the same in every run, then as the threads come. At the end three experiments show what a condition
// variable does not do: remember a notification, wake a thread only for a reason, give up a lock taken twice.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/condition_variable/condition_variable.cpp common/cookbook/*.cpp -lfmt -pthread -o condition_variable
// Run:     condition_variable [--items N] [--capacity N] [--producers N] [--consumers N]
//                             [--produce-ms N] [--consume-ms N] [--aloud]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "surprises.hpp"

namespace {

using namespace std::chrono_literals;

struct Taken {
  int item;
  std::size_t left;
};

class BoundedBuffer {
 public:
  using Notice = std::function<void()>;

  explicit BoundedBuffer(std::size_t capacity) : capacity_(capacity) {}

  /// Appends `item`, after a wait for a place if there is none, and returns how many items there are then.
  std::size_t put(int item, const Notice& about_to_wait = {}) {
    std::unique_lock hold(guard_);
    if (items_.size() == capacity_ && about_to_wait) about_to_wait();
    not_full_.wait(hold, [&] { return items_.size() < capacity_; });  // gives up the lock while it waits
    items_.push_back(item);
    not_empty_.notify_one();
    return items_.size();
  }

  /// Takes the oldest item, after a wait for one if there is none.
  Taken take(const Notice& about_to_wait = {}) {
    std::unique_lock hold(guard_);
    if (items_.empty() && about_to_wait) about_to_wait();
    not_empty_.wait(hold, [&] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop_front();
    not_full_.notify_one();
    return {item, items_.size()};
  }

  std::size_t length() {
    std::scoped_lock hold(guard_);
    return items_.size();
  }

 private:
  std::mutex guard_;
  std::condition_variable not_full_, not_empty_;  // two conditions over one mutex
  std::deque<int> items_;
  const std::size_t capacity_;
};

/// Lets two threads go on in a written order, such as "PCP": each waits for its letter, and passes the turn on.
class Turns {
 public:
  explicit Turns(std::string order) : order_(std::move(order)) {}

  void wait_for(char who) {
    std::unique_lock hold(guard_);
    changed_.wait(hold, [&] { return next_ < order_.size() && order_[next_] == who; });
  }

  void pass() {
    std::scoped_lock hold(guard_);
    ++next_;
    changed_.notify_all();  // the threads wait for different letters, so one alone might be the wrong one
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  const std::string order_;
  std::size_t next_ = 0;
};

struct Story {
  std::vector<std::size_t> lengths;  ///< of the buffer, after each put and take
  int waits = 0;
};

/// Passes 20 items through a buffer of 10 in the order of `turns`, P for producer, C for consumer. A thread that has
/// to wait ends its turn with that, and needs another one to say that it has gone on.
Story in_turns(const std::string& order, bool aloud) {
  BoundedBuffer buffer(10);
  Turns turns(order);
  Story story;  // only the thread whose turn it is touches it
  const auto act = [&](char who, auto put_or_take) {
    for (int i = 0; i < 20; ++i) {
      turns.wait_for(who);
      bool waited = false;
      const std::size_t length = put_or_take([&] {
        waited = true;
        ++story.waits;
        if (aloud) cookbook::println("{} waits", who);
        turns.pass();
      });
      if (waited) turns.wait_for(who);
      story.lengths.push_back(length);
      if (aloud) cookbook::println("{} has acted, {} in the buffer", who, length);
      turns.pass();
    }
  };
  std::jthread producer(act, 'P', [&](auto about_to_wait) { return buffer.put(1, about_to_wait); });
  std::jthread consumer(act, 'C', [&](auto about_to_wait) { return buffer.take(about_to_wait).left; });
  producer.join();
  consumer.join();
  return story;
}

struct Setting {
  int items = 20, capacity = 10, producers = 1, consumers = 1, produce_ms = 1, consume_ms = 2;
};

struct Outcome {
  std::vector<int> taken;  ///< sorted
  std::size_t left = 0, longest = 0;
};

/// Passes the numbers from 0 on through a buffer, as the threads come.
Outcome as_they_come(const Setting& setting) {
  BoundedBuffer buffer(static_cast<std::size_t>(setting.capacity));
  std::atomic<int> put = 0, taken = 0;
  std::mutex guard;
  Outcome outcome;
  const auto produce = [&] {
    for (int item = put++; item < setting.items; item = put++) {
      std::this_thread::sleep_for(setting.produce_ms * 1ms);
      const std::size_t length = buffer.put(item);
      std::scoped_lock hold(guard);
      outcome.longest = std::max(outcome.longest, length);
    }
  };
  const auto consume = [&] {
    while (taken++ < setting.items) {
      std::this_thread::sleep_for(setting.consume_ms * 1ms);
      const int item = buffer.take().item;
      std::scoped_lock hold(guard);
      outcome.taken.push_back(item);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < setting.producers; ++i) threads.emplace_back(produce);
    for (int i = 0; i < setting.consumers; ++i) threads.emplace_back(consume);
  }
  outcome.left = buffer.length();
  std::sort(outcome.taken.begin(), outcome.taken.end());
  return outcome;
}

std::string repeated(const std::string& part, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i) whole += part;
  return whole;
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  bool aloud = false;
  cookbook::Options options("Bound a buffer with condition variables");
  options.add("items", setting.items, "items that pass as the threads come; the turns are fixed", 1, 100'000);
  options.add("capacity", setting.capacity, "places in their buffer", 1, 100'000);
  options.add("producers", setting.producers, "threads that put", 1, 100);
  options.add("consumers", setting.consumers, "threads that take", 1, 100);
  options.add("produce-ms", setting.produce_ms, "time to make an item", 0, 10'000);
  options.add("consume-ms", setting.consume_ms, "time to use one up", 0, 10'000);
  options.add_flag("aloud", aloud, "print each turn");
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  // In the source an item is made in 5 s and used up in 10 s: at 5 s comes P, at 10 s C and P, at 15 s P, and so on.
  const Story slow_consumer = in_turns("P" + repeated("CPP", 9) + "CP" + repeated("C", 10), aloud);
  verdict.equal("lengths, consumer half as fast", slow_consumer.lengths,
                {1, 0, 1, 2, 1, 2, 3, 2,  3, 4,  3, 4, 5, 4, 5, 6, 5, 6, 7, 6,
                 7, 8, 7, 8, 9, 8, 9, 10, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  verdict.equal("waits, consumer half as fast", slow_consumer.waits, 0);
  const Story full_buffer = in_turns("P" + repeated("PCP", 10) + repeated("C", 10), aloud);
  verdict.equal("lengths, the same, producer first when both are due", full_buffer.lengths,
                {1, 2, 1, 2, 3, 2,  3, 4,  3, 4,  5, 4, 5, 6, 5, 6, 7, 6, 7, 8,
                 7, 8, 9, 8, 9, 10, 9, 10, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  verdict.equal("waits, the same, producer first when both are due", full_buffer.waits, 1);
  const Story slow_producer = in_turns(repeated("CPC", 20), aloud);
  verdict.equal("most in the buffer, producer half as fast",
                *std::max_element(slow_producer.lengths.begin(), slow_producer.lengths.end()), 1);
  verdict.equal("waits, producer half as fast", slow_producer.waits, 20);

  const Outcome outcome = as_they_come(setting);
  std::vector<int> all(static_cast<std::size_t>(setting.items));
  std::iota(all.begin(), all.end(), 0);
  verdict.equal("items taken as the threads come", outcome.taken.size(), all.size());
  verdict.equal("each of them once", outcome.taken == all, true);
  verdict.equal("items left", outcome.left, 0U);
  verdict.within("most in the buffer at once", outcome.longest, 1U, static_cast<std::size_t>(setting.capacity));

  verdict.equal("a notification is remembered", surprises::is_remembered(), false);
  verdict.equal("a waiter woken for nothing waits on", surprises::waits_on(), true);
  verdict.equal("a recursive lock taken once is free during a wait", surprises::is_free_during_wait(1), true);
  verdict.equal("a recursive lock taken twice is free during a wait", surprises::is_free_during_wait(2), false);
  return verdict.exit_code();
}
