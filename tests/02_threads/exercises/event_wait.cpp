// Tests an Event that a learner has written.

#include "event_class.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

void the_flag() {
  Event event;
  expect(!event.wait_for(1ms), "wait_for() says that the event came, and nobody has set it.");
  event.set();
  event.wait();
  event.wait();  // it stays set
  expect(event.waiting() == 0, "waiting() counts a thread that wait() let go on at once, since the flag is set.");
  expect(event.wait_for(1ms), "wait_for() does not see that the flag is set.");
  event.clear();
  expect(!event.wait_for(1ms), "After clear() the flag is still set.");
}

void all_that_wait_are_released() {
  Event event;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> released = 0;
    std::atomic<pid_t> id = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        id = gettid();
        event.wait();
        ++released;
      });
    }
    const bool all_wait = within_two_seconds([&] { return event.waiting() == 3 || released > 0; });
    expect(released == 0, round == 0 ? "wait() does not wait." : "wait() does not wait, after a set() and a clear().");
    expect(all_wait, "waiting() does not say how many threads wait.");
    if (round == 0) expect(judge::sleeps(id), "A thread keeps its processor busy while it waits.");
    expect(released == 0, "wait() does not wait for long.");
    event.set();
    event.clear();  // at once
    expect(within_two_seconds([&] { return released == 3; }),
           "A thread that waited when set() was called goes on waiting, since clear() was called at once.");
    expect(event.waiting() == 0, "waiting() counts threads that have gone on.");
    expect(!event.wait_for(1ms), "A set() of before releases a thread that has come after clear().");
  }
}

/// The threads that wait run late, and another thread than the one in set() calls clear() before.
void cleared_by_another_thread() {
  Event event;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> released = 0;
    std::atomic<bool> set_returned = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        event.wait();
        ++released;
      });
    }
    expect(within_two_seconds([&] { return event.waiting() == 3; }), "waiting() does not say how many threads wait.");
    threads.emplace_back([&] {
      event.set();
      set_returned = true;
    });
    const auto end = std::chrono::steady_clock::now() + 2s;
    while ((released < 3 || !set_returned) && std::chrono::steady_clock::now() < end) {
      event.clear();
      std::this_thread::yield();
    }
    expect(released == 3,
           "A thread that waited when set() was called goes on waiting, since another thread called clear().");
    expect(set_returned, "set() does not return, since another thread called clear().");
    event.clear();
  }
}

void wait_for_as_well() {
  Event event;
  std::atomic<bool> released = false;
  std::jthread thread([&] { released = event.wait_for(60s); });
  expect(within_two_seconds([&] { return event.waiting() == 1; }), "waiting() does not count a thread in wait_for().");
  event.set();
  expect(within_two_seconds([&] { return released.load(); }), "A thread in wait_for() is not woken by set().");
  expect(event.waiting() == 0, "waiting() is wrong when a thread in wait_for() has gone on.");
}

}  // namespace

int main() {
  the_flag();
  all_that_wait_are_released();
  cleared_by_another_thread();
  wait_for_as_well();
  std::puts("the event releases all that wait for it");
}
