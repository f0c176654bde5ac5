/// A box that counts its items, in three forms. In each of them every access to the number is under the lock; they
/// differ in how often and for how long add() locks. `Mutex` is the kind of mutex.
#pragma once

#include <mutex>
#include <stdexcept>

/// add() keeps the mutex locked all the time, and the two methods that it calls lock it again.
template <typename Mutex>
class NestedBox {
 public:
  int items() const {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  /// Throws std::invalid_argument if `number` is negative.
  void set(int number) {
    std::scoped_lock lock(mutex_);  // the second lock of the same thread, if add() has called
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }

  void add(int number) {
    std::scoped_lock lock(mutex_);  // no other thread comes between the two steps
    set(items() + number);
  }

  /// Sets the number to what `change` makes of it; calls `change` while the box is locked.
  template <typename Change>
  void update(Change change) {
    std::scoped_lock lock(mutex_);
    set(change(items()));
  }

 private:
  mutable Mutex mutex_;
  int items_ = 0;
};

/// Naive: add() does not lock, it only calls two methods that do. Between the two calls the mutex is free.
template <typename Mutex>
class StepwiseBox {
 public:
  int items() const {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  void set(int number) {
    std::scoped_lock lock(mutex_);
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }

  void add(int number) { set(items() + number); }

 private:
  mutable Mutex mutex_;
  int items_ = 0;
};

/// The better design: public methods lock and call private ones; private methods do the work and never lock.
template <typename Mutex>
class PlainBox {
 public:
  int items() const {
    std::scoped_lock lock(mutex_);
    return items_;
  }

  void set(int number) {
    std::scoped_lock lock(mutex_);
    set_while_locked(number);
  }

  void add(int number) {
    std::scoped_lock lock(mutex_);
    set_while_locked(items_ + number);
  }

  template <typename Change>
  void update(Change change) {
    std::scoped_lock lock(mutex_);
    set_while_locked(change(items_));
  }

 private:
  void set_while_locked(int number) {  // the caller holds the lock
    if (number < 0) throw std::invalid_argument("a box cannot hold fewer than 0 items");
    items_ = number;
  }

  mutable Mutex mutex_;
  int items_ = 0;
};
