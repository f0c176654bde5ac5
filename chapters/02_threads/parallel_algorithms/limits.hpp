/// What no way of doing a job can beat: the same traffic between memory and processor, by the same threads and in the
/// same chunks, with next to nothing computed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "by_threads.hpp"

/// The traffic of a sum. Exclusive or stands for the addition.
inline Number read_only(std::span<const Number> in, int threads) {
  std::atomic<Number> seen = 0;
  for_chunks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t length = (end - begin) / rows;
    Number seen_here = 0;
    for (std::size_t i = begin; i != begin + length; ++i) {
      for (std::size_t row = 0; row != rows; ++row) seen_here ^= in[i + row * length];
    }
    seen ^= seen_here;
  });
  return seen;
}

/// The traffic of a scan.
inline void copy_only(std::span<const Number> in, std::span<Number> out, int threads) {
  for_chunks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t half = (end - begin) / 2;
    for (std::size_t i = begin; i != begin + half; ++i) {
      out[i] = in[i];
      out[i + half] = in[i + half];
    }
  });
}

/// The traffic of a multiply-add: two rows read, one written.
inline Number copy_one_read_other(std::span<const Number> a, std::span<const Number> b, std::span<Number> out,
                                  int threads) {
  std::atomic<Number> seen = 0;
  for_chunks(a.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t half = (end - begin) / 2;
    Number seen_here = 0;
    for (std::size_t i = begin; i != begin + half; ++i) {
      out[i] = a[i];
      out[i + half] = a[i + half];
      seen_here ^= b[i] ^ b[i + half];
    }
    seen ^= seen_here;
  });
  return seen;
}
