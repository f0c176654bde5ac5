/// A value behind a lock that many readers can hold at a time, or one writer.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <utility>

/// A std::mutex that a reader locks as a writer does. To compare with.
struct PlainMutex : std::mutex {
  void lock_shared() { lock(); }
  void unlock_shared() { unlock(); }
};

/// No lock at all: right as long as nobody writes, or there is one thread only. To compare with.
struct NoMutex {
  void lock() {}
  void unlock() {}
  void lock_shared() {}
  void unlock_shared() {}
};

/// The value is reached only through read() and write(), so nobody can forget the lock, unless a pointer to the value
/// is let out. `Mutex` is any type with lock(), unlock(), lock_shared() and unlock_shared().
template <typename Value, typename Mutex = std::shared_mutex>
class Guarded {
 public:
  explicit Guarded(Value value) : value_(std::move(value)) {}

  /// Calls `use(value)` while no writer is inside; other readers may be. Returns a copy of what it returns.
  template <typename Use>
  auto read(Use use) const {
    std::shared_lock lock(mutex_);
    return use(value_);
  }

  /// Calls `change(value)` while nobody else is inside. Returns a copy of what it returns.
  template <typename Change>
  auto write(Change change) {
    std::scoped_lock lock(mutex_);
    return change(value_);
  }

 private:
  mutable Mutex mutex_;  // mutable, since read() is const and has to lock it
  Value value_;
};
