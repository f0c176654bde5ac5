/// Ways to read more numbers than the caches hold.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

using Number = std::uint32_t;  // sums wrap around at 2^32, so they are the same in any order

/// Cuts the indices from 0 to `size` into one block per thread and calls work(begin, end) for all blocks at once.
template <typename Work>
void in_blocks(std::size_t size, int threads, const Work& work) {
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([=, &work] { work(size * t / threads, size * (t + 1) / threads); });
  }
}

/// How far walk() goes in a step: so far that its next lines are not near, and by a number that shares no divisor with
/// `size`, so that it comes to every number before it comes to one again.
inline Number jump(std::size_t size) {
  auto places = static_cast<std::size_t>(0.6180339887 * static_cast<double>(size));
  while (std::gcd(places, size) != 1) ++places;
  return static_cast<Number>(places);
}

/// Reads one number after another, and returns where it ends. `in` is 0, 1, 2 and so on, so each number tells where it
/// stands, and the next place is known only when this number has come.
inline Number walk(std::span<const Number> in, Number place, int steps) {
  const auto size = static_cast<Number>(in.size()), further = jump(size);
  for (int i = 0; i < steps; ++i) {
    place = in[place] + further;
    if (place >= size) place -= size;
  }
  return place;
}

/// Walks from several places in turn, and returns where each ends. No walk waits for the numbers of the others.
template <std::size_t walks>
std::array<Number, walks> walk(std::span<const Number> in, std::array<Number, walks> places, int steps) {
  const auto size = static_cast<Number>(in.size()), further = jump(size);
  for (int i = 0; i < steps; ++i) {
    for (Number& place : places) {
      place = in[place] + further;
      if (place >= size) place -= size;
    }
  }
  return places;
}

/// The sum of `in`, read in turn from `streams` places: with two streams the numbers 0, n/2, 1, n/2 + 1 and so on.
template <std::size_t streams>
Number sum_in_streams(std::span<const Number> in) {
  const std::size_t length = in.size() / streams;  // of one stream
  Number sum = 0;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t stream = 0; stream < streams; ++stream) sum += in[stream * length + i];
  }
  for (std::size_t i = streams * length; i < in.size(); ++i) sum += in[i];  // what the division has left over
  return sum;
}

/// The sum of `in` by several threads, each with a block of its own.
template <std::size_t streams>
Number sum(std::span<const Number> in, int threads) {
  std::atomic<Number> total = 0;
  in_blocks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    total += sum_in_streams<streams>(in.subspan(begin, end - begin));  // one atomic addition per thread
  });
  return total;
}
