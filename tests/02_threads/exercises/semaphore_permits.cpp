// Tests a Semaphore that a learner has written.

#include "semaphore_class.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

void permits_are_counted() {
  Semaphore two(2);
  expect(two.try_acquire() && two.try_acquire(), "try_acquire() refuses although there is a permit.");
  expect(!two.try_acquire(), "try_acquire() takes a permit that does not exist.");
  two.release();
  two.acquire();
  expect(!two.try_acquire(), "acquire() or release() counts wrongly.");
}

void a_thread_waits() {
  Semaphore none(0);
  std::atomic<pid_t> id = 0;
  std::atomic<int> through = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      id = gettid();
      const judge::Effort before = judge::effort();
      none.acquire();
      expect(judge::effort().times_asleep - before.times_asleep < 15,
             "A thread that waits in acquire() falls asleep again and again, to look whether there is a permit.");
      ++through;
    });
  }
  while (id == 0) std::this_thread::sleep_for(1ms);
  const bool asleep = judge::sleeps(id);
  expect(through == 0, "acquire() does not wait although there is no permit.");
  expect(asleep, "acquire() keeps its processor busy while it waits.");
  none.release();
  expect(within_two_seconds([&] { return through == 1; }), "A thread that waits is not woken by release().");
  std::this_thread::sleep_for(20ms);
  expect(through == 1, "One permit has let two threads in.");
  none.release();
  expect(within_two_seconds([&] { return through == 2; }), "The second thread that waits is not woken by release().");
}

void all_are_woken() {
  for (int round = 0; round < 100; ++round) {
    constexpr int count = 4;
    Semaphore none(0);
    std::atomic<int> there = 0, through = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        ++there;
        none.acquire();
        ++through;
      });
    }
    while (there < count) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(2ms);  // they fall asleep
    for (int i = 0; i < count; ++i) none.release();
    expect(within_two_seconds([&] { return through == count; }), "Of several calls of release() one has woken nobody.");
  }
}

void never_below_0() {
  Semaphore none(0);
  expect(sizeof none == sizeof(std::atomic<int>), "A Semaphore has other data than the one atomic number.");
  const auto& number = reinterpret_cast<const std::atomic<int>&>(none);  // its only member
  std::atomic<bool> ended = false;
  std::jthread trying([&] {
    for (int i = 0; i < 1'000'000; ++i) none.try_acquire();
    ended = true;
  });
  while (!ended) {
    if (number < 0) {
      judge::refuse("The number of permits falls below 0 for a moment. A release() at that time would wake nobody.");
    }
  }
}

void never_too_many(int permits) {
  Semaphore semaphore(permits);
  std::atomic<int> inside = 0;
  {
    std::latch all_are_there(4);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        all_are_there.arrive_and_wait();
        for (int round = 0; round < 20'000; ++round) {
          if (i % 2 == 0) {
            while (!semaphore.try_acquire()) std::this_thread::yield();
          } else {
            semaphore.acquire();
          }
          expect(++inside <= permits, "More threads are inside than there are permits.");
          --inside;
          semaphore.release();
        }
      });
    }
  }
  for (int i = 0; i < permits; ++i) expect(semaphore.try_acquire(), "Permits have got lost.");
  expect(!semaphore.try_acquire(), "There are more permits than in the beginning.");
}

/// A function, so that a report of ThreadSanitizer has this name.
[[gnu::noinline]] void change_what_the_permit_protects(long& plain) { ++plain; }

/// What a thread writes before release() is visible to the thread that gets the permit. ThreadSanitizer looks at it.
template <typename Take>
void one_permit_protects(Take take) {
  constexpr int count = 3, rounds = 200;
  Semaphore one(1);
  long plain = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          take(one);
          change_what_the_permit_protects(plain);
          one.release();
        }
      });
    }
  }
  expect(plain == count * rounds, "Of what threads changed while they had the only permit, something has got lost.");
}

}  // namespace

int main() {
  permits_are_counted();
  never_below_0();
  a_thread_waits();
  all_are_woken();
  never_too_many(1);
  never_too_many(3);
  one_permit_protects([](Semaphore& one) { one.acquire(); });
  one_permit_protects([](Semaphore& one) {
    while (!one.try_acquire()) std::this_thread::yield();
  });
  std::puts("all permits are where they belong");
}
