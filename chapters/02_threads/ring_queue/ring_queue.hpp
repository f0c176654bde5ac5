/// A bounded first-in, first-out queue for any number of producing and consuming threads, without a lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

/// A ring of slots. Puts are numbered 0, 1, 2 and so on, and gets as well; put n and get n use slot n % capacity. The
/// slot's turn says who may use it:
///
///     2n                  free, for put n
///     2n + 1              filled, for get n
///     2(n + capacity)     free again, for the put that comes to this slot next
///
/// The ring must outlive all calls: an item may have been taken while its put() has not returned yet.
template <typename T>
class RingQueue {
  // Holds if neither T's move constructor nor its move assignment throws.
  static_assert(std::is_nothrow_move_assignable_v<std::optional<T>>,
                "a move that throws would leave a slot whose turn never comes");

 public:
  /// Throws std::invalid_argument if `capacity` is 0: nothing could ever be put.
  explicit RingQueue(std::size_t capacity) : slots_(capacity) {
    if (capacity == 0) throw std::invalid_argument("RingQueue: the capacity must be at least 1");
    for (std::size_t n = 0; n < capacity; ++n) slots_[n].turn = free_for(n);
  }

  /// Appends `item`; waits while the queue is full. Throws std::logic_error if the queue is closed.
  void put(T item) {
    if (closed_) throw std::logic_error("RingQueue: put() after close()");
    append(std::move(item));
  }

  /// Removes and returns the oldest item; waits while the queue is empty. Returns nothing once it is closed and empty.
  std::optional<T> get() {
    const std::uint64_t n = gets_.fetch_add(1);  // my ticket: no other consumer has this number
    Slot& slot = slots_[n % slots_.size()];
    wait_for(slot.turn, filled_for(n));
    std::optional<T> item = std::move(slot.item);
    set(slot.turn, free_for(n + slots_.size()));
    if (!item) append(std::nullopt);  // the end; leave it for the next consumer
    return item;
  }

  /// Says that nothing more will come. To be called once, when all calls of put() have returned. Waits while the queue
  /// is full.
  void close() {
    closed_ = true;
    append(std::nullopt);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Turn = std::atomic<std::uint32_t>;  // may overflow to 0: turns are only compared for equality

  // Not aligned to cache lines: the library of GCC 12 counts waiting threads in 16 counters, chosen by address / 4, and
  // notify_all() calls the system if its counter is not 0. With alignas(64) all turns would have the same counter.
  struct Slot {
    Turn turn;
    std::optional<T> item;  // nothing: the end of the queue
  };

  static std::uint32_t free_for(std::uint64_t n) { return static_cast<std::uint32_t>(2 * n); }
  static std::uint32_t filled_for(std::uint64_t n) { return static_cast<std::uint32_t>(2 * n + 1); }

  void append(std::optional<T> item) {
    const std::uint64_t n = puts_.fetch_add(1);  // my ticket: no other producer has this number
    Slot& slot = slots_[n % slots_.size()];
    wait_for(slot.turn, free_for(n));
    slot.item = std::move(item);
    set(slot.turn, filled_for(n));
  }

  /// Returns when the turn is `mine`. Spins for 5 us, since the turn often comes at once; then waits.
  static void wait_for(const Turn& turn, std::uint32_t mine) {
    if (turn == mine) return;
    const auto end_of_spinning = Clock::now() + std::chrono::microseconds(5);
    while (Clock::now() < end_of_spinning) {
      if (turn == mine) return;
    }
    for (std::uint32_t seen = turn; seen != mine; seen = turn) turn.wait(seen);  // until the turn is not `seen`
  }

  static void set(Turn& turn, std::uint32_t next) {
    turn = next;
    turn.notify_all();  // in GCC's library no call of the system while no thread waits
  }

  // The counters, which threads write all the time, each on a cache line of its own, away from what all threads read.
  alignas(64) std::atomic<std::uint64_t> puts_ = 0;  // tickets given to producers
  alignas(64) std::atomic<std::uint64_t> gets_ = 0;  // tickets given to consumers
  alignas(64) std::vector<Slot> slots_;
  std::atomic<bool> closed_ = false;
};
