/// A small value with one writer and any number of readers, who write nothing and so do not disturb each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

/// A sequence number guards the value: it is odd while the writer is at work. A reader notes the number, copies the
/// value and looks at the number again. If it has changed, the copy may be half old and half new, and the reader starts
/// again. The writer never waits until a reader is done. Several writers need a lock among themselves.
///
/// A copy may be made while the writer is at work, so the words of the value are atomics. The memory orders of the
/// loads are those of H.-J. Boehm, "Can seqlocks get along with programming language memory models?" (2012).
template <std::size_t words>
class SequenceLock {
 public:
  using Value = std::array<long, words>;

  void write(const Value& value) {
    const unsigned long before = sequence_.load(std::memory_order_relaxed);
    sequence_.store(before + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < words; ++i) {
      value_[i].store(value[i], std::memory_order_release);  // whoever sees it also sees the odd number, or a later one
    }
    sequence_.store(before + 2, std::memory_order_release);  // whoever sees it also sees these words, or newer ones
  }

  /// Reads until a copy is whole, and adds to `again` how many attempts were in vain.
  Value read(long& again) const {
    Value copy;
    for (; !try_read(copy); ++again) std::this_thread::yield();  // the writer may be waiting for this very core
    return copy;
  }

  Value read() const {
    long again = 0;
    return read(again);
  }

 private:
  bool try_read(Value& copy) const {
    const unsigned long before = sequence_.load(std::memory_order_acquire);
    if (before % 2 != 0) return false;  // the writer is at work
    for (std::size_t i = 0; i < words; ++i) {
      copy[i] = value_[i].load(std::memory_order_acquire);  // if it is newer, the load below sees another number
    }
    return sequence_.load(std::memory_order_relaxed) == before;
  }

  std::atomic<unsigned long> sequence_ = 0;
  std::array<std::atomic<long>, words> value_{};
};
