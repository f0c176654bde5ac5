/// A box that counts its items, in three forms. In each of them every access to the number is under the lock; they
/// differ in how long add() holds the lock, and in the kind of mutex.
#pragma once

#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

/// Whether a thread other than the caller can lock the mutex now; if so, it unlocks it again. (C++ lets try_lock() fail
/// even if the mutex is free; on Linux it does not.)
template <typename Mutex>
bool another_can_lock(Mutex& mutex) {
  bool locked = false;
  std::jthread([&] {
    locked = mutex.try_lock();
    if (locked) mutex.unlock();
  }).join();
  return locked;
}

/// What the three boxes have in common.
template <typename Mutex>
class Contents {
 public:
  /// For the demonstration: whether a thread other than the caller could lock the box now.
  bool is_free() { return another_can_lock(mutex_); }

 protected:
  Mutex mutex_;
  int items_ = 0;
};

/// What add() calls between its two steps. By default nothing; in the demonstration another thread comes here.
using Middle = std::function<void()>;
inline void nothing() {}

/// Naive: add() calls two methods that lock. Between the two calls the mutex is free.
class TwoStepBox : public Contents<std::mutex> {
 public:
  int items() {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  /// Throws std::invalid_argument if `number` is negative.
  void set(int number) {
    std::scoped_lock lock(mutex_);
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }

  void add(int number, const Middle& in_the_middle = nothing) {
    const int before = items();
    in_the_middle();
    set(before + number);
  }
};

/// add() holds the lock all the time, and the two methods that it calls lock it again.
class RecursiveBox : public Contents<std::recursive_mutex> {
 public:
  int items() {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  void set(int number) {
    std::scoped_lock lock(mutex_);  // the second lock of the same thread, if add() has called
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }

  void add(int number, const Middle& in_the_middle = nothing) {
    std::scoped_lock lock(mutex_);  // no other thread comes between the two steps
    const int before = items();
    in_the_middle();
    set(before + number);
  }
};

/// The better design: public methods lock and call private ones; private methods do the work and never lock.
class PlainBox : public Contents<std::mutex> {
 public:
  int items() {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  void set(int number) {
    std::scoped_lock lock(mutex_);
    set_while_locked(number);
  }

  void add(int number, const Middle& in_the_middle = nothing) {
    std::scoped_lock lock(mutex_);
    const int before = items_;
    in_the_middle();
    set_while_locked(before + number);
  }

 private:
  void set_while_locked(int number) {  // the caller holds the lock
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }
};
