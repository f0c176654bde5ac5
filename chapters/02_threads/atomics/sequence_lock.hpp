/// A small value with one writer and any number of readers, who write nothing and so do not disturb each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "spin_lock.hpp"

namespace atomics {

/// A sequence number guards the value: odd while the writer is at work, another even number after it. A reader takes
/// the number, copies, and looks at the number again; if it has changed, the copy may be half old and half new, and is
/// thrown away. The writer never waits. Several writers need a lock among themselves.
///
/// The copy may run into the writer, so the words of the value are atomics: as plain longs they would be a data race,
/// even though the copy is thrown away. Their orders are those of H.-J. Boehm, "Can seqlocks get along with programming
/// language memory models?" (2012), in the form that needs no std::atomic_thread_fence.
template <std::size_t words>
class SequenceLock {
 public:
  using Value = std::array<long, words>;

  void write(const Value& value) {
    // relaxed: nobody else writes the number.
    const unsigned long before = sequence_.load(std::memory_order_relaxed);
    // relaxed: the odd number need not be seen at once, only by those who see one of the new words below.
    sequence_.store(before + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < words; ++i) {
      // release: whoever sees this word also sees the odd number above. Were it relaxed, the word could overtake it.
      value_[i].store(value[i], std::memory_order_release);
    }
    // release: whoever sees this even number sees all the words.
    sequence_.store(before + 2, std::memory_order_release);
  }

  Value read() const {
    Value copy;
    spin_until([&] { return try_read(copy); });
    return copy;
  }

 private:
  bool try_read(Value& copy) const {
    // acquire: sees every word of the write that left this number, so no word is older than the number.
    const unsigned long before = sequence_.load(std::memory_order_acquire);
    if (before % 2 != 0) return false;
    for (std::size_t i = 0; i < words; ++i) {
      // acquire: if this word is of a later write, then that write's odd number is seen below, so no word that passes
      // is newer than the number. It also keeps the load below from moving up before this one.
      copy[i] = value_[i].load(std::memory_order_acquire);
    }
    // relaxed: what must come before it does so by the acquire loads; nothing comes after it that it would have to
    // order.
    return sequence_.load(std::memory_order_relaxed) == before;
  }

  std::atomic<unsigned long> sequence_ = 0;
  std::array<std::atomic<long>, words> value_{};
};

}  // namespace atomics
