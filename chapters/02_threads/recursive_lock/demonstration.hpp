/// Mutexes for the demonstration: one that lets another thread come as soon as it can, and one that refuses a deadlock.
#pragma once

#include <pthread.h>

#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "another_can_lock.hpp"

/// What another thread does, once, as soon as it can lock a watched mutex.
inline std::function<void()> other_thread;

/// A mutex that after each unlock lets the other thread come, if the mutex is then free.
template <typename Mutex>
class Watched {
 public:
  void lock() { mutex_.lock(); }
  void unlock() {
    mutex_.unlock();
    if (other_thread && another_can_lock(mutex_)) std::jthread(std::exchange(other_thread, nullptr)).join();
  }

 private:
  Mutex mutex_;
};

/// A mutex of the system that knows its holder: a second lock by the same thread fails with EDEADLK.
class ErrorCheckingMutex {
 public:
  ErrorCheckingMutex() = default;
  ErrorCheckingMutex(const ErrorCheckingMutex&) = delete;
  ErrorCheckingMutex& operator=(const ErrorCheckingMutex&) = delete;
  ~ErrorCheckingMutex() { pthread_mutex_destroy(&mutex_); }

  void lock() { check(pthread_mutex_lock(&mutex_)); }
  void unlock() { check(pthread_mutex_unlock(&mutex_)); }

 private:
  static void check(int error) {
    if (error != 0) throw std::system_error(error, std::generic_category());
  }

  pthread_mutex_t mutex_ = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
};
