/// A bounded queue between processes, for any number of producers and consumers: a ring, a lock, and three conditions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "../process_synchronisation/primitives.hpp"  // RobustMutex, Hold, Condition

/// For memory that processes share. A process may be killed at any moment, in any call: puts, gets and dones are
/// numbers that only grow, an item is in when `puts_` says so and out when `gets_` does, so nothing is ever half done.
template <typename T, std::size_t capacity>
class SharedQueue {
  static_assert(std::is_trivially_copyable_v<T>, "only bytes go from process to process");

 public:
  /// Puts an item in; waits while the queue is full. False if it is closed, or full for the time `limit`.
  bool put(const T& item, Duration limit = for_ever) {
    Hold hold(lock_);
    const bool room = wait(hold, not_full_, limit, [&] { return closed_ || puts_ - gets_ < capacity; });
    if (!room || closed_) return false;
    items_[puts_ % capacity] = item;
    puts_.store(puts_ + 1, std::memory_order_release);
    if (puts_ - gets_ == 1) not_empty_.notify_all();  // else nobody waits, or is woken already
    return true;
  }

  /// Takes the oldest item; waits while there is none. Nothing if none comes within `limit`, or none will come: the
  /// queue is closed and empty.
  std::optional<T> get(Duration limit = for_ever) {
    Hold hold(lock_);
    wait(hold, not_empty_, limit, [&] { return closed_ || puts_ > gets_; });
    if (puts_ == gets_) return std::nullopt;
    const T item = items_[gets_ % capacity];
    gets_.store(gets_ + 1, std::memory_order_release);
    if (puts_ - gets_ == capacity - 1) not_full_.notify_all();
    return item;
  }

  /// Reports an item that was taken as processed. Throws std::logic_error if nothing is left to report.
  void task_done() {
    Hold hold(lock_);
    mend(hold);
    if (dones_ == gets_) throw std::logic_error("task_done() was called more often than items were taken");
    dones_.store(dones_ + 1, std::memory_order_release);
    if (dones_ == puts_) done_.notify_all();
  }

  /// Waits until every item that was put has been reported by task_done(), at most `limit`; whether it was so.
  bool join(Duration limit = for_ever) {
    Hold hold(lock_);
    return wait(hold, done_, limit, [&] { return dones_ == puts_; });
  }

  /// From now on nothing is put. What is inside can still be taken. For whoever learns that one side is dead.
  void close() {
    Hold hold(lock_);
    mend(hold);
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  /// How many items are inside: right when it is read, perhaps not any more when it is used.
  std::size_t size() const {
    const std::uint64_t gets = gets_;
    return puts_ - gets;
  }

 private:
  static constexpr Duration for_ever = std::chrono::hours(24 * 365);

  /// If somebody died with the lock, nothing is half done, but perhaps nobody was told of what was done.
  void mend(Hold& hold) {
    if (!hold.owner_died()) return;
    hold.repaired();
    for (Condition* condition : {&not_full_, &not_empty_, &done_}) condition->notify_all();
  }

  template <typename Ready>
  bool wait(Hold& hold, Condition& changed, Duration limit, Ready ready) {
    mend(hold);
    if (ready()) return true;  // the clock need not be read
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
      const bool is_ready = changed.wait_for(hold, deadline - std::chrono::steady_clock::now(), ready);
      if (!hold.owner_died()) return is_ready;
      mend(hold);
    }
  }

  RobustMutex lock_;
  Condition not_full_, not_empty_, done_;
  // Atomic for size(), and so that the order is kept in which a kill may find things: first the item, then the number.
  std::atomic<std::uint64_t> puts_ = 0, gets_ = 0, dones_ = 0;
  std::atomic<bool> closed_ = false;
  T items_[capacity];
};
