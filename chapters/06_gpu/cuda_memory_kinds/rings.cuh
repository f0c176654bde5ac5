/// How long one load takes: rings in several kinds of memory. A ring is memory in which each place holds the way to the
/// next one, all around, in a random order. So each load has to wait for the one before, and the time per load is the
/// latency of the memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/cuda.hpp"
#include "stream.hpp"

/// The smallest rings have 512 places of 4 bytes; a place holds the distance in bytes from the ring's beginning
/// to its successor.
constexpr unsigned small_ring = 512;
__constant__ unsigned ring_in_constant_memory[small_ring];

__device__ inline unsigned follow(const unsigned* ring, int steps) {
  unsigned at = 0;
#pragma unroll 16
  for (int step = 0; step < steps; ++step) {
    at = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(ring) + at);
  }
  return at;
}

__global__ void follow_in_shared_memory(const unsigned* ring, int steps, unsigned* end) {
  __shared__ unsigned ring_in_shared_memory[small_ring];
  for (unsigned i = threadIdx.x; i < small_ring; i += blockDim.x) ring_in_shared_memory[i] = ring[i];
  __syncthreads();
  *end = follow(ring_in_shared_memory, steps);
}

__global__ void follow_in_constant_memory(int steps, unsigned* end) { *end = follow(ring_in_constant_memory, steps); }

/// A larger ring: a place is a line of 128 bytes, and begins with the address of the next. __ldca() is a load from
/// global memory, through all caches.
struct Line {
  unsigned long long next;
  char unused[120];
};

/// Goes on from `*at`, so that the next launch finds lines that were not loaded before, until the ring is closed.
__global__ void follow_lines(const Line** at, int steps) {
  const Line* line = *at;
#pragma unroll 16
  for (int step = 0; step < steps; ++step) line = reinterpret_cast<const Line*>(__ldca(&line->next));
  *at = line;
}

/// After place i of the ring comes place next[i]: one cycle through all of them (Sattolo's algorithm).
inline std::vector<std::size_t> random_cycle(std::size_t places) {
  std::vector<std::size_t> next(places);
  std::iota(next.begin(), next.end(), std::size_t{0});
  std::mt19937_64 random;
  for (std::size_t i = places; i-- > 1;) std::swap(next[i], next[random() % i]);
  return next;
}

/// The place so many steps after place 0.
inline std::size_t after(const std::vector<std::size_t>& next, std::size_t steps) {
  std::size_t at = 0;
  for (std::size_t step = 0; step < steps; ++step) at = next[at];
  return at;
}

/// A ring in one kind of memory. `start()` queues a kernel of one thread that takes the steps; `right()` waits for it
/// and says whether it has ended where the host says.
struct Ring {
  std::string memory;
  std::function<void()> start;
  std::function<bool()> right;
};

/// A ring of lines in `lines`, on the device (gpu::DeviceArray) or on the host (PinnedArray).
template <typename Lines>
Ring ring_of_lines(std::string memory, std::shared_ptr<Lines> lines, int steps) {
  const auto next = std::make_shared<const std::vector<std::size_t>>(random_cycle(lines->size()));
  std::vector<Line> host(lines->size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    host[i].next = reinterpret_cast<unsigned long long>(lines->data() + (*next)[i]);
  }
  CUDA_CHECK(cudaMemcpy(lines->data(), host.data(), host.size() * sizeof(Line), cudaMemcpyDefault));
  const auto at = std::make_shared<gpu::DeviceArray<const Line*>>(std::vector<const Line*>{lines->data()});
  const auto starts = std::make_shared<std::size_t>(0);
  return {std::move(memory),
          [at, steps, starts] {
            follow_lines<<<1, 1>>>(at->data(), steps);
            CUDA_CHECK(cudaGetLastError());
            ++*starts;
          },
          [lines, next, at, steps, starts] {
            return at->to_host()[0] == lines->data() + after(*next, *starts * static_cast<std::size_t>(steps));
          }};
}

/// A ring in each of these kinds of memory; the largest has so many MiB.
inline std::vector<Ring> make_rings(int steps, std::size_t largest_mib) {
  constexpr std::size_t lines_per_mib = (1 << 20) / sizeof(Line);
  const std::vector<std::size_t> cycle = random_cycle(small_ring);
  std::vector<unsigned> distances(small_ring);
  for (unsigned i = 0; i < small_ring; ++i) distances[i] = static_cast<unsigned>(cycle[i] * sizeof(unsigned));
  const auto ring = std::make_shared<gpu::DeviceArray<unsigned>>(distances);
  CUDA_CHECK(cudaMemcpyToSymbol(ring_in_constant_memory, distances.data(), small_ring * sizeof(unsigned)));
  const auto end = std::make_shared<gpu::DeviceArray<unsigned>>(1);
  const auto right = [end, expected = after(cycle, static_cast<std::size_t>(steps)) * sizeof(unsigned)] {
    const bool as_expected = end->to_host()[0] == expected;
    end->poison();  // the next ring writes it, too
    return as_expected;
  };
  end->poison();

  const auto on_device = [steps](std::string memory, std::size_t lines) {
    return ring_of_lines(std::move(memory), std::make_shared<gpu::DeviceArray<Line>>(lines), steps);
  };
  return {{"shared memory",
           [ring, end, steps] {
             follow_in_shared_memory<<<1, 1>>>(ring->data(), steps, end->data());
             CUDA_CHECK(cudaGetLastError());
           },
           right},
          {"constant memory",
           [end, steps] {
             follow_in_constant_memory<<<1, 1>>>(steps, end->data());
             CUDA_CHECK(cudaGetLastError());
           },
           right},
          on_device("global memory, 16 KiB", lines_per_mib / 64),
          on_device("global memory, 2 MiB", 2 * lines_per_mib),
          on_device(fmt::format("global memory, {} MiB", largest_mib), largest_mib * lines_per_mib),
          ring_of_lines("pinned memory of the host, 16 KiB", std::make_shared<PinnedArray<Line>>(lines_per_mib / 64),
                        steps),
          ring_of_lines("pinned memory of the host, 16 MiB", std::make_shared<PinnedArray<Line>>(16 * lines_per_mib),
                        steps)};
}
