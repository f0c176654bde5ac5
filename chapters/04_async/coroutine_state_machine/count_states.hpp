/// How many states exist at the same time, and how much memory is in use then: for the measurement only.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstddef>

/// Bytes that malloc() has given away and not got back. (A sanitizer has a malloc() of its own, and this is 0.)
inline std::size_t bytes_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// A local variable of each state, which counts it from its beginning to its end. All states run in one thread.
struct Alive {
  static inline int now = 0, most = 0;       // states that have begun and not ended
  static inline std::size_t most_bytes = 0;  // on the heap of this process, when a state began

  Alive() {
    most = std::max(most, ++now);
    most_bytes = std::max(most_bytes, bytes_in_use());
  }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --now; }
};
