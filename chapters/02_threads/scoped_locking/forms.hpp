/// Three ways to hold a lock while some work is done, of which the first is wrong.
#pragma once

#include <chrono>
#include <mutex>
#include <semaphore>

/// Naive: if work() throws, unlock() is not reached, and the lock stays taken.
template <typename Mutex, typename Work>
void naive(Mutex& mutex, Work work) {
  mutex.lock();
  work();
  mutex.unlock();
}

/// By hand: right, but C++ has no `finally`, so unlock() stands there twice.
template <typename Mutex, typename Work>
void by_hand(Mutex& mutex, Work work) {
  mutex.lock();
  try {
    work();
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
  work();
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
