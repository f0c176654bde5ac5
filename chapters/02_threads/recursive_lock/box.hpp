/// A box that counts its items and the additions, in three forms. In each of them every access to a number is under the
/// lock; they differ in when add() takes it, and which kind it is.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

/// What the three boxes have in common: the numbers with their mutex, and what the program uses to look at them.
template <typename Mutex>
class Numbers {
 public:
  /// What another thread finds that wants to look now.
  const char* look() {
    const char* found = "has to wait";
    std::jthread([&] {
      const std::unique_lock lock(mutex_, std::try_to_lock);  // takes the lock only if it need not wait
      if (lock.owns_lock()) found = state();
    }).join();
    return found;
  }

  std::function<void()> half_made = [] {};        // called in the middle of add()
  const char* found_by_change = "is not called";  // what change() has found when it had its lock

 protected:
  /// Whether the invariant holds: the total is the number of additions, as long as no user calls change().
  const char* state() const { return total_ == additions_ ? "a whole change" : "half a change"; }

  Mutex mutex_;
  int total_ = 0, additions_ = 0;
};

/// Naive: add() locks for each of its two numbers by itself. Between the two, other threads see one of them changed.
class TwoStepBox : public Numbers<std::mutex> {
 public:
  /// Corrects the total without counting as an addition. Returns the new total, as add() does.
  int change(int items) {
    std::scoped_lock lock(mutex_);
    found_by_change = state();
    return total_ += items;
  }

  int add() {
    {
      std::scoped_lock lock(mutex_);
      ++additions_;
    }
    half_made();
    return change(+1);
  }
};

/// Both public methods lock: change(), because it may be called from outside, and add(), because it changes two numbers
/// that belong together. And one calls the other.
class RecursiveBox : public Numbers<std::recursive_mutex> {
 public:
  int change(int items) {
    std::scoped_lock lock(mutex_);  // the second lock of the same thread, if add() called
    found_by_change = state();      // only for the demonstration
    return total_ += items;
  }

  int add() {
    std::scoped_lock lock(mutex_);  // nobody else comes in before both numbers have changed
    ++additions_;
    half_made();  // only for the demonstration: lets another thread look now
    return change(+1);
  }
};

/// The better design: public methods lock and call private ones; private methods do the work and never lock.
class PlainBox : public Numbers<std::mutex> {
 public:
  int change(int items) {
    std::scoped_lock lock(mutex_);
    found_by_change = state();
    return change_while_locked(items);
  }

  int add() {
    std::scoped_lock lock(mutex_);
    ++additions_;
    half_made();
    return change_while_locked(+1);
  }

 private:
  int change_while_locked(int items) { return total_ += items; }  // the caller holds the lock
};
