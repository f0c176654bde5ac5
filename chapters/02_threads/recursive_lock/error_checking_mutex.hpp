/// A mutex that refuses a second lock by its holder, where a std::mutex would wait for ever.
#pragma once

#include <pthread.h>

#include <system_error>

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
