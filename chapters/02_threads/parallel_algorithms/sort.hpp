/// Sorting in four forms: one thread, std::execution::par, oneTBB, and threads by hand.
#pragma once

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <execution>
#include <memory>
#include <span>
#include <utility>

#include "by_threads.hpp"

inline void sort_serial(std::span<Number> numbers) { std::sort(numbers.begin(), numbers.end()); }

inline void sort_par(std::span<Number> numbers) { std::sort(std::execution::par, numbers.begin(), numbers.end()); }

inline void sort_tbb(std::span<Number> numbers) { tbb::parallel_sort(numbers.begin(), numbers.end()); }

/// How many of the `count` smallest numbers of two sorted rows stand in the left row; equal numbers count left first.
inline std::size_t from_left(std::span<const Number> left, std::span<const Number> right, std::size_t count) {
  std::size_t lowest = count > right.size() ? count - right.size() : 0;
  std::size_t highest = std::min(count, left.size());
  while (lowest < highest) {
    const std::size_t middle = (lowest + highest) / 2;
    if (left[middle] <= right[count - middle - 1]) {
      lowest = middle + 1;
    } else {
      highest = middle;
    }
  }
  return lowest;
}

/// Merges two sorted rows to `out`. Which row the next number comes from is random, so no processor could predict a
/// branch on it; there is none here.
inline void merge(std::span<const Number> left, std::span<const Number> right, Number* out) {
  const Number *a = left.data(), *a_end = a + left.size();
  const Number *b = right.data(), *b_end = b + right.size();
  while (a != a_end && b != b_end) {
    const bool from_b = *b < *a;
    *out++ = from_b ? *b : *a;
    a += !from_b;
    b += from_b;
  }
  std::copy(b, b_end, std::copy(a, a_end, out));
}

/// Merges the sorted rows of length `width` in `from`, two by two, but writes only out[begin] to out[end - 1].
inline void merge_pairs(std::span<const Number> from, std::size_t width, Number* out, std::size_t begin,
                        std::size_t end) {
  for (std::size_t start = begin / (2 * width) * (2 * width); start < end; start += 2 * width) {
    const auto pair = from.subspan(start, std::min(2 * width, from.size() - start));
    const auto left = pair.first(std::min(width, pair.size())), right = pair.subspan(left.size());
    const std::size_t skip = std::max(begin, start) - start, stop = std::min(end - start, pair.size());
    const std::size_t left_skip = from_left(left, right, skip), left_stop = from_left(left, right, stop);
    merge(left.first(left_stop).subspan(left_skip), right.first(stop - left_stop).subspan(skip - left_skip),
          out + start + skip);
  }
}

/// Each thread sorts a block of its own. Then rows of sorted numbers are merged by pairs, all threads on all pairs,
/// until one row is left: log2(threads) rounds, and every thread writes an equal share in each.
inline void sort_by_hand(std::span<Number> numbers, int threads) {
  const std::size_t size = numbers.size();
  const std::size_t block = (size + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  const auto space = std::make_unique_for_overwrite<Number[]>(size);
  std::barrier round_done(threads);

  on_threads(threads, [&](int thread) {
    const std::size_t begin = std::min(size, static_cast<std::size_t>(thread) * block);
    const std::size_t end = std::min(size, begin + block);
    std::span<Number> from = numbers, to(space.get(), size);

    // Every round moves all numbers to the other place; start where the last round ends in `numbers`.
    int rounds = 0;
    for (std::size_t width = block; width < size; width *= 2) ++rounds;
    if (rounds % 2 == 1) {
      std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
      std::swap(from, to);
    }

    std::sort(from.begin() + begin, from.begin() + end);
    for (std::size_t width = block; width < size; width *= 2) {
      round_done.arrive_and_wait();
      merge_pairs(from, width, to.data(), begin, end);
      std::swap(from, to);
    }
  });
}

/// What no sort of this kind can beat: the blocks sorted, not merged.
inline void sort_blocks(std::span<Number> numbers, int threads) {
  on_threads(threads, [&](int thread) {
    const std::size_t block = numbers.size() / static_cast<std::size_t>(threads);
    const auto own = numbers.subspan(static_cast<std::size_t>(thread) * block, block);
    std::sort(own.begin(), own.end());
  });
}
