/// Two ways to read more numbers than the caches hold: from place to place, and in order.
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

/// Walks from several places in turn, and returns where each ends. `in` is 0, 1, 2 and so on, so each number tells
/// where it stands. Where a walk reads next is known only when its last number has come, but no walk waits for the
/// others.
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

/// The places where as many walks begin, the first one at `place`: each comes in `steps` steps to where the next one
/// has begun, so none reads what another one has read.
template <std::size_t walks>
std::array<Number, walks> places_of_walks(std::size_t size, Number place, int steps) {
  std::array<Number, walks> places;
  for (std::uint64_t i = 0; i < walks; ++i) {
    places[i] = static_cast<Number>((place + i * static_cast<std::uint64_t>(steps) % size * jump(size)) % size);
  }
  return places;
}

/// The sum of `in` by several threads, each with a block of its own, which it reads in order.
inline Number sum(std::span<const Number> in, int threads) {
  std::atomic<Number> total = 0;
  in_blocks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    total += std::accumulate(in.begin() + begin, in.begin() + end, Number{0});  // one atomic addition per thread
  });
  return total;
}
