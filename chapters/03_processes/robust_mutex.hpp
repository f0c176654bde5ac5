/// Making a mutex that survives the process that holds it.
#pragma once

#include <pthread.h>

#include "cookbook/posix.hpp"

/// Makes a mutex that processes can share, and that is robust: if its owner dies, a pthread_mutex_lock() that waits, or
/// else the next one, gets the lock and returns EOWNERDEAD.
inline void init_robust(pthread_mutex_t& mutex) {
  pthread_mutexattr_t how;
  check_error(pthread_mutexattr_init(&how), "pthread_mutexattr_init");
  check_error(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
  check_error(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST), "pthread_mutexattr_setrobust");
  check_error(pthread_mutex_init(&mutex, &how), "pthread_mutex_init");
  check_error(pthread_mutexattr_destroy(&how), "pthread_mutexattr_destroy");
}
