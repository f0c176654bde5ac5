/// Three ways to hold a lock while some work is done, of which the first is wrong.
#pragma once

#include <chrono>
#include <mutex>
#include <semaphore>

/// Naive: if work() throws, unlock() is not reached, and nobody can ever take the lock again.
constexpr auto naive = [](auto& lock, auto work) {
  lock.lock();
  work();
  lock.unlock();
};

/// By hand: right, but C++ has no `finally`, so unlock() stands there twice.
constexpr auto by_hand = [](auto& lock, auto work) {
  lock.lock();
  try {
    work();
  } catch (...) {
    lock.unlock();
    throw;
  }
  lock.unlock();
};

/// Scoped: the constructor of `hold` takes the lock, its destructor releases it.
constexpr auto scoped = [](auto& lock, auto work) {
  std::scoped_lock hold(lock);
  work();
};

/// A semaphore under the names that scoped locks call. A mutex has them already.
class SemaphoreLock {
 public:
  void lock() {
    while (!semaphore_.try_acquire_for(std::chrono::milliseconds(100))) {  // acquire() of GCC 12 may sleep for ever
    }
  }
  bool try_lock() { return semaphore_.try_acquire(); }
  void unlock() { semaphore_.release(); }

 private:
  std::binary_semaphore semaphore_{1};
};
