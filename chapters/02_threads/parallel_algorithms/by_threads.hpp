/// What a parallel algorithm made by hand stands on: threads, and the chunks of work that they take in turns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

/// What the algorithms work on. Sums wrap around, so they are exact, and the same in any order of the additions.
using Number = std::uint32_t;

/// Calls work(0) to work(threads - 1) at the same time, work(0) in the calling thread, and waits for all.
template <typename Work>
void on_threads(int threads, const Work& work) {
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back([&work, thread] { work(thread); });
  work(0);
}

/// 1 MiB of numbers: to take a chunk costs nothing beside reading it, and who reads it twice finds it in the cache.
constexpr std::size_t chunk_length = 1 << 18;

/// A chunk is best read in so many places at once. Their distance is no multiple of 4 KiB then: at 8 or 16 it would be,
/// and all places would fall into the same few lines of the cache.
constexpr std::size_t rows = 12;

/// Cuts the indices from 0 to `size` into chunks and calls work(begin, end) for each. The chunks are taken in order,
/// the next one by whichever thread is free: one that is held up takes fewer, and nobody waits long for it at the end.
template <typename Work>
void for_chunks(std::size_t size, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  on_threads(threads, [&](int) {
    for (;;) {
      const std::size_t begin = next.fetch_add(chunk_length, std::memory_order_relaxed);
      if (begin >= size) break;
      work(begin, std::min(begin + chunk_length, size));
    }
  });
}
