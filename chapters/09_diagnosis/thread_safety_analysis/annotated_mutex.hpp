/// A mutex whose use Clang checks when it compiles: std::mutex with Clang's attributes. For other compilers the
/// attributes are nothing. Clang believes them: nothing checks that lock() locks.
#pragma once

#include <mutex>

#ifdef __clang__
#define THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define THREAD_ANNOTATION(attribute)
#endif

#define GUARDED_BY(mutex) THREAD_ANNOTATION(guarded_by(mutex))  // a variable: use it only while holding this
#define REQUIRES(mutex) \
  THREAD_ANNOTATION(requires_capability(mutex))                   // a function: the caller holds it, and still does
#define EXCLUDES(mutex) THREAD_ANNOTATION(locks_excluded(mutex))  // a function: the caller does not hold it
#define ACQUIRE(...) THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))  // a function: locks it; without a name, *this
#define RELEASE(...) THREAD_ANNOTATION(release_capability(__VA_ARGS__))  // a function: unlocks it

class THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class THREAD_ANNOTATION(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};
