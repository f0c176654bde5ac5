/// A merge sort by several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <utility>

/// Merges two sorted rows into `out`, which has room for both. Does the same as std::merge. But which row the next
/// number comes from is random, and here the loop has no branch for it that the processor could predict wrongly.
template <typename T>
void merge_rows(std::span<const T> a, std::span<const T> b, std::span<T> out) {
  auto next_a = a.begin(), next_b = b.begin();
  auto next_out = out.begin();
  while (next_a != a.end() && next_b != b.end()) {
    const bool from_b = *next_b < *next_a;
    *next_out++ = from_b ? *next_b : *next_a;
    next_a += !from_b;
    next_b += from_b;
  }
  std::copy(next_b, b.end(), std::copy(next_a, a.end(), next_out));
}

/// Merges two sorted rows into `out`, which has room for both.
///
/// Several threads share the work: a number of the longer row, and the place where it would stand in the other row, cut
/// both rows, so that no number before the cuts is greater than any number after them.
template <typename T>
void parallel_merge(std::span<const T> a, std::span<const T> b, std::span<T> out, int threads) {
  if (threads == 1 || out.empty()) {
    merge_rows(a, b, out);
    return;
  }
  if (a.size() < b.size()) std::swap(a, b);
  const std::size_t cut_a = a.size() * (threads / 2) / threads;
  const std::size_t cut_b = std::lower_bound(b.begin(), b.end(), a[cut_a]) - b.begin();
  const std::size_t cut = cut_a + cut_b;
  std::jthread before([=] { parallel_merge<T>(a.first(cut_a), b.first(cut_b), out.first(cut), threads / 2); });
  parallel_merge<T>(a.subspan(cut_a), b.subspan(cut_b), out.subspan(cut), threads - threads / 2);
  // here the destructor of `before` waits for its thread
}

/// Sorts `numbers` by several threads; the result is in `numbers`, or in `other`, which is as long, if `into_other`.
template <typename T>
void merge_sort(std::span<T> numbers, std::span<T> other, bool into_other, int threads) {
  if (threads == 1) {
    std::sort(numbers.begin(), numbers.end());
    if (into_other) std::copy(numbers.begin(), numbers.end(), other.begin());
    return;
  }
  const std::size_t cut = numbers.size() * (threads / 2) / threads;
  {
    std::jthread lower([=] { merge_sort(numbers.first(cut), other.first(cut), !into_other, threads / 2); });
    merge_sort(numbers.subspan(cut), other.subspan(cut), !into_other, threads - threads / 2);
  }  // here the destructor of `lower` waits for its thread: both parts are sorted
  const std::span<T> from = into_other ? numbers : other, to = into_other ? other : numbers;
  parallel_merge<T>(from.first(cut), from.subspan(cut), to, threads);
}

/// Sorts `numbers` with `threads` threads.
template <typename T>
void parallel_sort(std::span<T> numbers, int threads) {
  const auto other = std::make_unique_for_overwrite<T[]>(numbers.size());
  merge_sort(numbers, std::span(other.get(), numbers.size()), false, threads);
}
