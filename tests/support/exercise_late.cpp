// Loaded before a program by LD_PRELOAD, when an exercise is judged: a thread comes late to the first waits for a
// condition variable. That changes nothing if what it waits for is changed under the mutex, which it still holds then.
// With COOKBOOK_EXERCISE_HEAD_START in the environment a new thread begins before the one that has made it goes on, so
// that it is on its way to its wait when it is told something.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "interposer.hpp"

namespace {

void sleep_the_first_times(std::atomic<int>& times, std::chrono::milliseconds pause) {
  if (times.fetch_add(1) < 10) std::this_thread::sleep_for(pause);
}

void come_late() {
  static std::atomic<int> times = 0;
  sleep_the_first_times(times, std::chrono::milliseconds(10));
}

/// The C library has two versions of these, and a look-up without a version may find the one for programs of long ago.
template <typename Function>
Function hidden_version(const char* name, const char* version) {
  void* const found = dlvsym(RTLD_NEXT, name, version);
  return found != nullptr ? reinterpret_cast<Function>(found) : hidden<Function>(name);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  static const auto real = hidden<decltype(&pthread_create)>("pthread_create");
  static std::atomic<int> times = 0;
  const int result = real(thread, attributes, function, argument);
  if (std::getenv("COOKBOOK_EXERCISE_HEAD_START") != nullptr) {
    sleep_the_first_times(times, std::chrono::milliseconds(5));
  }
  return result;
}

extern "C" int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto real = hidden_version<decltype(&pthread_cond_wait)>("pthread_cond_wait", "GLIBC_2.3.2");
  come_late();
  return real(condition, mutex);
}

extern "C" int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const auto real = hidden_version<decltype(&pthread_cond_timedwait)>("pthread_cond_timedwait", "GLIBC_2.3.2");
  come_late();
  return real(condition, mutex, until);
}

extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  static const auto real = hidden<decltype(&pthread_cond_clockwait)>("pthread_cond_clockwait");
  come_late();
  return real(condition, mutex, clock, until);
}
