/// Data that processes share under a robust mutex.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <stdexcept>

#include "cookbook/posix.hpp"
#include "robust_mutex.hpp"

/// A monitor: one process at a time has access to the data.
///
/// If a process dies while it has access, the next one calls `data.repair()` before anything else. If that throws, the
/// exception goes to the caller, and nobody gets access any more: each later one gets std::runtime_error. (With glibc
/// 2.36 some of those that wait already sleep for ever: so a `repair()` that can throw is safe only where at most two
/// wait.)
template <typename Data>
class Monitor {
 public:
  /// With PTHREAD_MUTEX_STALLED its mutex is an ordinary one: if its owner dies, all others wait for ever.
  explicit Monitor(int robustness = PTHREAD_MUTEX_ROBUST) { init_shared(mutex_, robustness); }
  // No pthread_mutex_destroy(): a dead owner may have left the mutex locked, and to destroy it then is undefined.

  void lock() {
    const int error = pthread_mutex_lock(&mutex_);
    if (error == ENOTRECOVERABLE) throw std::runtime_error("a process died within a change that nobody can repair");
    if (error != EOWNERDEAD) return check_error(error, "pthread_mutex_lock");  // 0: locked as usual
    try {
      data_.repair();  // the last owner has died: it may have left a change half made
    } catch (...) {
      unlock();  // still marked: from now on the mutex refuses everybody
      throw;
    }
    check_error(pthread_mutex_consistent(&mutex_), "pthread_mutex_consistent");
  }
  void unlock() { check_error(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock"); }

  /// The data without the lock: for a look when no other process can change them.
  const Data& unlocked() const { return data_; }

  /// Has the data to itself while it lives.
  class Access {
   public:
    explicit Access(Monitor& monitor) : data_(monitor.data_), lock_(monitor) {}
    Data* operator->() const { return &data_; }

   private:
    Data& data_;
    std::scoped_lock<Monitor> lock_;
  };

 private:
  pthread_mutex_t mutex_;
  Data data_;
};
