/// A pipe in shared memory: one process writes, one reads, and nobody calls the system while neither has to wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <type_traits>

#include "shared_futex.hpp"

/// For memory that processes share. It holds `capacity` items, a power of two. No lock is in it, so a process that is
/// killed blocks nobody; whoever learns of it calls close().
template <typename T, std::size_t capacity>
class Stream {
  static_assert(std::is_trivially_copyable_v<T>, "only bytes go from process to process");
  static_assert(std::has_single_bit(capacity), "so that the counters may overflow");

 public:
  /// Copies all items in; waits while there is no room. False if the stream was closed before that.
  bool write(std::span<const T> items) {
    std::uint64_t position = writer_.count.load(std::memory_order_relaxed);
    while (!items.empty()) {
      if (position - writer_.other == capacity) {  // as far as seen when last looked
        wait(writer_, reader_, [&](std::uint64_t reader) { return position - reader < capacity; });
      }
      if (closed_.load(std::memory_order_relaxed)) return false;
      const std::size_t count = std::min(items.size(), static_cast<std::size_t>(capacity - (position - writer_.other)));
      in_two_parts(position, count, [&](std::size_t place, std::size_t first, std::size_t length) {
        std::memcpy(items_ + place, items.data() + first, length * sizeof(T));
      });
      position += count;
      publish(writer_, position, reader_);
      items = items.subspan(count);
    }
    return true;
  }

  /// Waits for items, and copies out what is there, as much as has place; how many. 0 if the stream is closed and
  /// empty.
  std::size_t read(std::span<T> items) {
    const std::uint64_t position = reader_.count.load(std::memory_order_relaxed);
    if (reader_.other == position) {
      wait(reader_, writer_, [&](std::uint64_t writer) { return writer != position; });
    }
    const std::size_t count = std::min(items.size(), static_cast<std::size_t>(reader_.other - position));
    in_two_parts(position, count, [&](std::size_t place, std::size_t first, std::size_t length) {
      std::memcpy(items.data() + first, items_ + place, length * sizeof(T));
    });
    publish(reader_, position + count, writer_);
    return count;
  }

  /// No more will come. What is inside can still be read.
  void close() {
    closed_ = true;
    for (Side* side : {&writer_, &reader_}) {
      side->asleep = 0;
      futex_wake(side->asleep);
    }
  }

 private:
  /// What one side writes, on a cache line of its own; the flag, which changes seldom, on another.
  struct Side {
    alignas(64) std::atomic<std::uint64_t> count = 0;  ///< items that have been written, or read
    std::uint64_t other = 0;                           ///< the other side's count when this side last looked: a note
    alignas(64) FutexWord asleep = 0;                  ///< 1: wake me
  };

  /// Makes the new count known. The order of all these sequentially consistent accesses is one: if the sleeper's last
  /// look misses the count, its flag was set before the count was, so it is seen here.
  static void publish(Side& self, std::uint64_t count, Side& other) {
    self.count.store(count);
    if (other.asleep.load() == 0) return;
    other.asleep = 0;
    futex_wake(other.asleep);
  }

  /// Looks at the other side's count until it is `enough` or the stream is closed: first again and again, since to
  /// sleep and be woken takes longer than most waits; then asleep.
  template <typename Enough>
  void wait(Side& self, const Side& other, Enough enough) {
    const auto settled = [&] {
      const bool closed = closed_;  // before the count: what was written before the close must not be missed
      self.other = other.count;
      return enough(self.other) || closed;
    };
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + look_for;
    do {
      if (settled()) return;
    } while (Clock::now() < end);
    for (;;) {
      self.asleep = 1;
      if (settled()) break;
      futex_wait(self.asleep, 1, std::chrono::hours(1));
    }
    self.asleep = 0;
  }

  /// The ring's places from `position` on: up to its end, and the rest from its beginning.
  template <typename Copy>
  static void in_two_parts(std::uint64_t position, std::size_t count, Copy copy) {
    const std::size_t place = position % capacity;
    const std::size_t length = std::min(count, capacity - place);
    copy(place, 0, length);
    if (length < count) copy(0, length, count - length);
  }

  // As long as a wake-up may take; not at all on a single processor, where it keeps the other side from running.
  static inline const auto look_for = std::chrono::microseconds(std::thread::hardware_concurrency() > 1 ? 20 : 0);

  Side writer_, reader_;
  alignas(64) std::atomic<bool> closed_ = false;
  alignas(64) T items_[capacity];
};
