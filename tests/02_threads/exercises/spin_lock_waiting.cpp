// Tests a SpinLock that a learner has written.

#include "spin_lock.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <mutex>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

std::atomic<long> yields = 0;

/// How often this thread has slept.
long sleeps() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

}  // namespace

// Stands before the library's own function, and counts: std::this_thread::yield() calls it.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

void one_thread() {
  SpinLock lock;
  lock.lock();
  judge::elsewhere([&] { expect(!lock.try_lock(), "Another thread takes a lock that is held."); });
  lock.unlock();
  judge::elsewhere([&] {
    expect(lock.try_lock(), "Nobody can take a lock that was given back.");
    lock.unlock();
  });
  lock.lock();  // it works more than once
  lock.unlock();
}

void a_thread_waits() {
  SpinLock lock;
  std::atomic<bool> through = false;
  lock.lock();
  std::jthread other([&] {
    const long before = yields + sleeps();
    lock.lock();
    expect(yields + sleeps() > before, "A thread that waits long does not give its core away.");
    lock.unlock();
    through = true;
  });
  std::this_thread::sleep_for(50ms);
  expect(!through, "lock() does not wait for the holder.");
  lock.unlock();
  expect(within_two_seconds([&] { return through.load(); }), "lock() does not see that the lock is free.");
}

void many_threads() {
  SpinLock lock;
  long plain = 0;  // not atomic: the lock has to make each change visible to the next holder
  {
    std::latch all_are_there(4);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        all_are_there.arrive_and_wait();
        for (int round = 0; round < 20'000; ++round) {
          const std::scoped_lock mine(lock);
          const long seen = plain;
          if (round % 1'000 == 0) std::this_thread::yield();
          plain = seen + 1;
        }
      });
    }
  }
  expect(plain == 80'000, "Two threads were inside at the same time.");
}

}  // namespace

int main() {
  one_thread();
  a_thread_waits();
  many_threads();
  std::puts("one thread holds the lock at a time");
}
