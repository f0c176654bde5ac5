/// Three ways to hold a lock while some work is done, of which the first is wrong. The block can be left in three ways:
/// at its end, by `return` if work() returns false, and by an exception if it throws.
#pragma once

#include <chrono>
#include <mutex>
#include <semaphore>

/// Naive: `return` and an exception pass over unlock(), and the lock stays taken.
template <typename Mutex, typename Work>
void naive(Mutex& mutex, Work work) {
  mutex.lock();
  if (!work()) return;
  mutex.unlock();
}

/// By hand: right, but C++ has no `finally`, so unlock() stands there for each way out.
template <typename Mutex, typename Work>
void by_hand(Mutex& mutex, Work work) {
  mutex.lock();
  try {
    if (!work()) {
      mutex.unlock();
      return;
    }
  } catch (...) {
    mutex.unlock();
    throw;
  }
  mutex.unlock();
}

/// Scoped: the constructor of `hold` takes the lock, its destructor releases it.
template <typename Mutex, typename Work>
void scoped(Mutex& mutex, Work work) {
  std::scoped_lock hold(mutex);
  if (!work()) return;
}

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
