/// A mutex between processes that tells its next owner when the last one has died.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <stdexcept>

#include "cookbook/system_check.hpp"

/// A pthread mutex that works in memory shared by several processes, and survives the death of one that holds it. Taken
/// and given back by a Hold.
class RobustMutex {
 public:
  /// `type` may be PTHREAD_MUTEX_RECURSIVE: then who holds it may take it again.
  explicit RobustMutex(int type = PTHREAD_MUTEX_NORMAL) {
    pthread_mutexattr_t how;
    check_error(pthread_mutexattr_init(&how), "pthread_mutexattr_init");
    check_error(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
    check_error(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST), "pthread_mutexattr_setrobust");
    check_error(pthread_mutexattr_settype(&how, type), "pthread_mutexattr_settype");
    check_error(pthread_mutex_init(&mutex_, &how), "pthread_mutex_init");
    check_error(pthread_mutexattr_destroy(&how), "pthread_mutexattr_destroy");
  }
  ~RobustMutex() { pthread_mutex_destroy(&mutex_); }
  RobustMutex(const RobustMutex&) = delete;
  RobustMutex& operator=(const RobustMutex&) = delete;

 private:
  friend class Hold;
  pthread_mutex_t mutex_;
};

/// Holds a RobustMutex from its construction to its end, as std::unique_lock does.
///
/// Who finds owner_died() true has the lock, but what it guards may be half changed: repair that and call repaired().
/// Whoever gives the lock back without it makes it unusable: every later Hold throws, in every process.
class Hold {
 public:
  explicit Hold(RobustMutex& mutex) : mutex_(&mutex.mutex_) { lock(); }
  Hold(RobustMutex& mutex, std::try_to_lock_t) : mutex_(&mutex.mutex_) {
    const int error = pthread_mutex_trylock(mutex_);
    if (error != EBUSY) note(error, "pthread_mutex_trylock");
  }
  ~Hold() {
    if (held_) unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  /// Throws std::runtime_error if a dead owner's mess was never repaired.
  void lock() { note(pthread_mutex_lock(mutex_), "pthread_mutex_lock"); }
  void unlock() {
    check_error(pthread_mutex_unlock(mutex_), "pthread_mutex_unlock");
    held_ = false;
  }

  bool held() const { return held_; }
  bool owner_died() const { return owner_died_; }
  void repaired() {
    check_error(pthread_mutex_consistent(mutex_), "pthread_mutex_consistent");
    owner_died_ = false;
  }

 private:
  void note(int error, const char* call) {
    if (error == ENOTRECOVERABLE) throw std::runtime_error("the last owner of a lock died, and nobody has repaired");
    if (error != EOWNERDEAD) check_error(error, call);
    owner_died_ = error == EOWNERDEAD;
    held_ = true;
  }

  pthread_mutex_t* mutex_;
  bool held_ = false;
  bool owner_died_ = false;
};
