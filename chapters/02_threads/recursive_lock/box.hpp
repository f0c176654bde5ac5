/// A box that counts its items, and how often one was added or removed, in two forms, both safe to use from several
/// threads.
#pragma once

#include <mutex>

/// Public methods that call one another. Each of them locks, because each may be called from outside, and because add()
/// and remove() change two numbers that belong together.
class RecursiveBox {
 public:
  /// Corrects the total without counting as an addition or a removal.
  int change(int items) {
    std::scoped_lock lock(mutex_);  // the second lock of the same thread, if add() or remove() called
    return total_ += items;
  }

  int add() {
    std::scoped_lock lock(mutex_);  // nobody else comes in before both numbers have changed
    ++additions_;
    return change(+1);
  }

  int remove() {
    std::scoped_lock lock(mutex_);
    ++removals_;
    return change(-1);
  }

  /// Whether the invariant holds: the total is the additions less the removals, as long as no user calls change().
  bool is_consistent() {
    std::scoped_lock lock(mutex_);
    return total_ == additions_ - removals_;
  }

 private:
  std::recursive_mutex mutex_;
  int total_ = 0, additions_ = 0, removals_ = 0;
};

/// The better design: public methods lock and call private ones; private methods do the work and never lock.
class PlainBox {
 public:
  int change(int items) {
    std::scoped_lock lock(mutex_);
    return change_while_locked(items);
  }

  int add() {
    std::scoped_lock lock(mutex_);
    ++additions_;
    return change_while_locked(+1);
  }

  int remove() {
    std::scoped_lock lock(mutex_);
    ++removals_;
    return change_while_locked(-1);
  }

  bool is_consistent() {
    std::scoped_lock lock(mutex_);
    return total_ == additions_ - removals_;
  }

 private:
  int change_while_locked(int items) { return total_ += items; }  // the caller holds the lock

  std::mutex mutex_;
  int total_ = 0, additions_ = 0, removals_ = 0;
};
