/// A box that counts its items, and how often one was added or removed, in three forms. In each of them every access to
/// a number is under the lock.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

/// Starts a thread that tries to lock the mutex and to look at the numbers. Returns what it found.
template <typename Mutex>
std::string look_from_another_thread(Mutex& mutex, const int& total, const int& additions, const int& removals) {
  std::string found = "has to wait";
  std::jthread([&] {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock) found = total == additions - removals ? "sees a whole change" : "sees half a change";
  }).join();
  return found;
}

/// Naive: add() locks for each of its two numbers by itself. Between the two, other threads see one of them changed.
class TwoStepBox {
 public:
  int change(int items) {
    std::scoped_lock lock(mutex_);
    return total_ += items;
  }

  int add() {
    count(additions_);
    half_made();
    return change(+1);
  }

  int remove() {
    count(removals_);
    half_made();
    return change(-1);
  }

  bool is_consistent() {
    std::scoped_lock lock(mutex_);
    return total_ == additions_ - removals_;
  }

  /// What another thread finds that wants to look now.
  std::string look() { return look_from_another_thread(mutex_, total_, additions_, removals_); }

  std::function<void()> half_made = [] {};  // only for the demonstration: called in the middle of add() and remove()

 private:
  void count(int& number) {
    std::scoped_lock lock(mutex_);
    ++number;
  }

  std::mutex mutex_;
  int total_ = 0, additions_ = 0, removals_ = 0;
};

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
    half_made();  // only for the demonstration: lets another thread look now
    return change(+1);
  }

  int remove() {
    std::scoped_lock lock(mutex_);
    ++removals_;
    half_made();
    return change(-1);
  }

  /// Whether the invariant holds: the total is the additions less the removals, as long as no user calls change().
  bool is_consistent() {
    std::scoped_lock lock(mutex_);
    return total_ == additions_ - removals_;
  }

  /// What another thread finds that wants to look now.
  std::string look() { return look_from_another_thread(mutex_, total_, additions_, removals_); }

  std::function<void()> half_made = [] {};  // only for the demonstration: called in the middle of add() and remove()

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
    half_made();
    return change_while_locked(+1);
  }

  int remove() {
    std::scoped_lock lock(mutex_);
    ++removals_;
    half_made();
    return change_while_locked(-1);
  }

  bool is_consistent() {
    std::scoped_lock lock(mutex_);
    return total_ == additions_ - removals_;
  }

  /// What another thread finds that wants to look now.
  std::string look() { return look_from_another_thread(mutex_, total_, additions_, removals_); }

  std::function<void()> half_made = [] {};  // only for the demonstration: called in the middle of add() and remove()

 private:
  int change_while_locked(int items) { return total_ += items; }  // the caller holds the lock

  std::mutex mutex_;
  int total_ = 0, additions_ = 0, removals_ = 0;
};
