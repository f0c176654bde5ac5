/// A bounded queue between threads in its plain form: a std::deque, a mutex, and a condition for each reason to wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

/// For any number of producers and consumers. All calls must have returned before it is destroyed.
template <typename T>
class PlainQueue {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit PlainQueue(std::size_t capacity) : capacity_(capacity) {
    if (capacity == 0) throw std::invalid_argument("a queue of capacity 0 would never take an item");
  }

  /// Puts `item` in; waits while the queue is full. The other two give up at once, or after `timeout`. False: not put,
  /// for the queue was full to the end or is closed; `item` is then as it was.
  bool put(T&& item) { return put_within(for_ever, item); }
  bool try_put(T&& item) { return put_within(Duration::zero(), item); }
  bool put_for(T&& item, Duration timeout) { return put_within(timeout, item); }

  /// Takes the oldest item; waits while there is none. The other two give up at once, or after `timeout`. Nothing: the
  /// queue was empty to the end; from get(), that it is closed and will stay empty.
  std::optional<T> get() { return get_within(for_ever); }
  std::optional<T> try_get() { return get_within(Duration::zero()); }
  std::optional<T> get_for(Duration timeout) { return get_within(timeout); }

  /// Reports an item that was taken as processed. Throws std::logic_error if nothing is left to report.
  void task_done() {
    std::scoped_lock hold(guard_);
    if (unfinished_ == 0) throw std::logic_error("task_done() was called more often than items were put");
    if (--unfinished_ == 0) all_done_.notify_all();
  }

  /// Waits until every item that was put has been reported by task_done().
  void join() {
    std::unique_lock hold(guard_);
    all_done_.wait(hold, [&] { return unfinished_ == 0; });
  }

  /// From now on nothing is put. What is inside can still be taken; then every get() returns nothing.
  void close() {
    std::scoped_lock hold(guard_);
    closed_ = true;
    not_full_.notify_all();
    not_empty_.notify_all();
  }

  bool closed() const {
    std::scoped_lock hold(guard_);
    return closed_;
  }

  std::size_t size() const {
    std::scoped_lock hold(guard_);
    return items_.size();
  }

  std::size_t capacity() const { return capacity_; }

 private:
  static constexpr Duration for_ever = Duration::max();

  bool put_within(Duration timeout, T& item) {
    std::unique_lock hold(guard_);
    if (!wait(timeout, not_full_, hold, [&] { return closed_ || items_.size() < capacity_; })) return false;
    if (closed_) return false;
    items_.push_back(std::move(item));
    ++unfinished_;
    hold.unlock();
    not_empty_.notify_one();
    return true;
  }

  std::optional<T> get_within(Duration timeout) {
    std::unique_lock hold(guard_);
    if (!wait(timeout, not_empty_, hold, [&] { return closed_ || !items_.empty(); })) return std::nullopt;
    if (items_.empty()) return std::nullopt;
    std::optional<T> item = std::move(items_.front());
    items_.pop_front();
    hold.unlock();
    not_full_.notify_one();
    return item;
  }

  /// Gives the lock back and sleeps until ready() holds, or until `timeout` has passed; then returns ready().
  template <typename Ready>
  static bool wait(Duration timeout, std::condition_variable& changed, std::unique_lock<std::mutex>& hold,
                   Ready ready) {
    if (timeout != for_ever) return changed.wait_for(hold, timeout, ready);
    changed.wait(hold, ready);
    return true;
  }

  const std::size_t capacity_;
  mutable std::mutex guard_;  // of all that follows
  std::condition_variable not_full_, not_empty_, all_done_;
  std::deque<T> items_;
  std::size_t unfinished_ = 0;  // put and not yet reported
  bool closed_ = false;
};
