/// How often std::mutex was locked in a test program. Included by its one source, since it puts a function before that
/// of the C library. A sanitizer has a pthread_mutex_lock of its own, so COUNTS_LOCKS is not defined with one.
#pragma once

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_LOCKS 1

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

static std::atomic<long> locks_taken = 0;            // by all threads
static thread_local long locks_taken_by_thread = 0;  // by this one

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = reinterpret_cast<decltype(&pthread_mutex_lock)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks_taken;
  ++locks_taken_by_thread;
  return real(mutex);
}
#endif
