/// A bounded queue between threads that takes a lock only to go to sleep and to wake a sleeper.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "waiting_room.hpp"

/// Does what PlainQueue does. The ring with a turn in each slot is Dmitry Vyukov's bounded queue for many producers and
/// consumers (https://www.1024cores.net/home/lock-free-algorithms/queues/bounded-mpmc-queue); sleeping, join(), close()
/// and capacities of any size, 1 included, are added.
///
/// Put number n goes to slot n % capacity, and get number n takes it from there. The slot's turn says whose move it is:
///
///     2n                  free for put number n
///     2n + 1              filled, for get number n
///     2(n + capacity)     free for the put that comes here next
template <typename T>
class RingQueue {
  static_assert(std::is_default_constructible_v<T>, "a slot holds a T at all times");
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>,
                "a move that throws would leave a slot that is nobody's turn");

 public:
  using Clock = std::chrono::steady_clock;
  using Duration = Clock::duration;

  /// Who finds the queue full or empty looks again for the time `spin` before it sleeps. That pays if the others run
  /// meanwhile, so not on a single processor.
  explicit RingQueue(std::size_t capacity, Duration spin = default_spin())
      : capacity_(capacity), spin_(spin), slots_(capacity) {
    if (capacity == 0) throw std::invalid_argument("a queue of capacity 0 would never take an item");
    for (std::size_t i = 0; i < capacity; ++i) slots_[i].turn = 2 * i;
  }

  static Duration default_spin() {
    return std::thread::hardware_concurrency() > 1 ? std::chrono::microseconds(5) : Duration::zero();
  }

  /// Puts `item` in; waits while the queue is full. The other two give up at once, or after `timeout`. False: not put,
  /// for the queue was full to the end or is closed; `item` is then as it was.
  bool put(T&& item) { return put_within(for_ever, item); }
  bool try_put(T&& item) { return put_within(Duration::zero(), item); }
  bool put_for(T&& item, Duration timeout) { return put_within(timeout, item); }

  /// Takes the oldest item; waits while there is none. The other two give up at once, or after `timeout`. Nothing: the
  /// queue was empty to the end; from get(), that it is closed and will stay empty. An item counts as there when all
  /// puts that began to fill a slot before it have ended, too.
  std::optional<T> get() { return get_within(for_ever); }
  std::optional<T> try_get() { return get_within(Duration::zero()); }
  std::optional<T> get_for(Duration timeout) { return get_within(timeout); }

  /// Reports an item that was taken as processed. Throws std::logic_error if nothing is left to report.
  void task_done() {
    std::uint64_t done = done_;
    do {
      if (done == gets_) throw std::logic_error("task_done() was called more often than items were taken");
    } while (!done_.compare_exchange_weak(done, done + 1));
    // Asks for the producers' line only if someone is in join().
    if (finished_.occupied() && all_done()) finished_.wake();
  }

  /// Waits until every item that was put has been reported by task_done().
  void join() {
    finished_.wait(never, [&] { return all_done(); });
  }

  /// From now on nothing is put. What is inside can still be taken; then every get() returns nothing.
  void close() {
    puts_.fetch_or(closed_bit);
    filled_.wake();
    freed_.wake();
  }

  bool closed() const { return (puts_ & closed_bit) != 0; }

  /// How many items are inside, those included that are on their way in or out.
  std::size_t size() const {
    const std::uint64_t puts = puts_ & ~closed_bit, gets = gets_;
    return puts > gets ? puts - gets : 0;  // gets was read later, and may have overtaken
  }

  std::size_t capacity() const { return capacity_; }

 private:
  enum class Outcome { done, not_yet, closed };

  struct Slot {
    std::atomic<std::uint64_t> turn;
    T item;
  };

  static constexpr Duration for_ever = Duration::max();
  static constexpr Clock::time_point never = Clock::time_point::max();
  static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 63;
  static constexpr std::size_t cache_line = 64;

  bool put_within(Duration timeout, T& item) {
    if (repeat(timeout, freed_, [&] { return attempt_put(item); }) != Outcome::done) return false;
    filled_.wake();
    return true;
  }

  std::optional<T> get_within(Duration timeout) {
    std::optional<T> item;
    if (repeat(timeout, filled_, [&] { return attempt_get(item); }) == Outcome::done) freed_.wake();
    return item;
  }

  /// Claims the next put's number, if its slot is free, and fills the slot.
  Outcome attempt_put(T& item) {
    std::uint64_t n = puts_;
    for (;;) {
      // The bit is in the counter itself, so that no number can be claimed after close().
      if (n & closed_bit) return Outcome::closed;
      Slot& slot = slots_[n % capacity_];
      const std::uint64_t turn = slot.turn;
      if (turn < 2 * n) return Outcome::not_yet;  // the item of a lap ago is still inside: full
      if (turn > 2 * n) {
        n = puts_;  // another producer was faster
      } else if (puts_.compare_exchange_weak(n, n + 1)) {
        slot.item = std::move(item);
        slot.turn = 2 * n + 1;
        return Outcome::done;
      }
    }
  }

  /// Claims the next get's number, if its slot is filled, and empties the slot.
  Outcome attempt_get(std::optional<T>& item) {
    std::uint64_t n = gets_;
    for (;;) {
      Slot& slot = slots_[n % capacity_];
      const std::uint64_t turn = slot.turn;
      if (turn < 2 * n + 1) return puts_ == (n | closed_bit) ? Outcome::closed : Outcome::not_yet;
      if (turn > 2 * n + 1) {
        n = gets_;  // another consumer was faster
      } else if (gets_.compare_exchange_weak(n, n + 1)) {
        item = std::move(slot.item);
        slot.turn = 2 * (n + capacity_);
        return Outcome::done;
      }
    }
  }

  /// Attempts at once, then again and again for a short while, then asleep until woken or until `timeout` has passed.
  template <typename Attempt>
  Outcome repeat(Duration timeout, WaitingRoom& room, Attempt attempt) {
    Outcome outcome = attempt();
    if (outcome != Outcome::not_yet || timeout <= Duration::zero()) return outcome;
    const Clock::time_point start = Clock::now();
    const Clock::time_point deadline = timeout == for_ever ? never : start + timeout;
    const auto settled = [&] { return (outcome = attempt()) != Outcome::not_yet; };
    // Between two looks the slot's line is left to those who are to write it, for as long as reading the clock takes.
    while (Clock::now() < std::min(start + spin_, deadline)) {
      if (settled()) return outcome;
    }
    room.wait(deadline, settled);
    return outcome;
  }

  bool all_done() const { return done_ == (puts_ & ~closed_bit); }

  const std::size_t capacity_;
  const Duration spin_;
  std::vector<Slot> slots_;
  // What different threads write stands on different cache lines; else each write would take the line from the others.
  alignas(cache_line) std::atomic<std::uint64_t> puts_ = 0;  // how many have begun; the topmost bit means closed
  alignas(cache_line) std::atomic<std::uint64_t> gets_ = 0;  // how many have begun
  alignas(cache_line) std::atomic<std::uint64_t> done_ = 0;  // items reported by task_done()
  alignas(cache_line) WaitingRoom filled_;                   // for consumers, until a slot is filled
  alignas(cache_line) WaitingRoom freed_;                    // for producers, until a slot is free
  alignas(cache_line) WaitingRoom finished_;                 // for join()
};
