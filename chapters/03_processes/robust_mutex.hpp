/// Making a mutex that survives the process that holds it.
#pragma once

#include <pthread.h>

#include "cookbook/posix.hpp"

/// Makes a mutex that processes can share, robust (PTHREAD_MUTEX_ROBUST) or ordinary (PTHREAD_MUTEX_STALLED).
inline void init_shared(pthread_mutex_t& mutex, int robustness) {
  pthread_mutexattr_t how;
  check_error(pthread_mutexattr_init(&how), "pthread_mutexattr_init");
  check_error(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
  check_error(pthread_mutexattr_setrobust(&how, robustness), "pthread_mutexattr_setrobust");
  check_error(pthread_mutex_init(&mutex, &how), "pthread_mutex_init");
  check_error(pthread_mutexattr_destroy(&how), "pthread_mutexattr_destroy");
}

/// Makes a mutex that processes can share, and that is robust: if its owner dies, the next pthread_mutex_lock() that
/// gets the lock, one that waits or one that comes, returns EOWNERDEAD.
inline void init_robust(pthread_mutex_t& mutex) { init_shared(mutex, PTHREAD_MUTEX_ROBUST); }
