// Kinds of memory, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds_bench.cu common/cookbook/*.cpp -lfmt -o cuda_memory_kinds_bench
// Run:     cuda_memory_kinds_bench [--count N] [--ring N] [--steps N] [--rounds N]

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "stream.hpp"

namespace {

__global__ void copy(const unsigned* in, unsigned* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i];
}

/// A ring is memory in which each place holds the way to the next one, all around, in a random order. So each load
/// has to wait for the one before, and the time per load is the latency of the memory. The smallest rings have 512
/// places of 4 bytes; a place holds its successor's distance in bytes.
constexpr unsigned small_ring = 512;
__constant__ unsigned ring_in_constant_memory[small_ring];

__device__ unsigned follow(const unsigned* ring, int steps) {
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

__global__ void follow_lines(const Line* line, int steps, const Line** end) {
#pragma unroll 16
  for (int step = 0; step < steps; ++step) line = reinterpret_cast<const Line*>(__ldca(&line->next));
  *end = line;
}

/// After place i of the ring comes place next[i]: one cycle through all of them (Sattolo's algorithm).
std::vector<std::size_t> random_cycle(std::size_t places) {
  std::vector<std::size_t> next(places);
  std::iota(next.begin(), next.end(), std::size_t{0});
  std::mt19937_64 random;
  for (std::size_t i = places; i-- > 1;) std::swap(next[i], next[random() % i]);
  return next;
}

std::size_t after(const std::vector<std::size_t>& next, int steps) {
  std::size_t at = 0;
  for (int step = 0; step < steps; ++step) at = next[at];
  return at;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 28, largest_ring = 1024;
  int steps = 20'000, rounds = 15;
  cookbook::Options options("How fast the device reads memory of each kind");
  options.add("count", count, "numbers that come from the host", 1, 1 << 29);
  options.add("ring", largest_ring, "MiB that single loads go through, in the largest ring", 1, 8192);
  options.add("steps", steps, "loads, each of which waits for the one before", 1, 1'000'000);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  const std::size_t bytes = count * sizeof(unsigned);
  cookbook::require_memory(3.0 * static_cast<double>(bytes) + 1.2e6 * static_cast<double>(largest_ring),
                           fmt::format("--count {} --ring {}", count, largest_ring));
  cookbook::Checks checks;

  // From the host to the device: through a copy from memory that is pinned or not, and by a kernel that reads it.
  gpu::DeviceArray<unsigned> out(count);
  std::vector<unsigned> pageable(count);
  std::iota(pageable.begin(), pageable.end(), 0U);
  PinnedArray<unsigned> pinned(count);
  std::copy(pageable.begin(), pageable.end(), pinned.begin());
  unsigned* managed;
  CUDA_CHECK(cudaMallocManaged(&managed, bytes));
  const auto run_copy = [&](const unsigned* from) {
    copy<<<static_cast<unsigned>((count + 255) / 256), 256>>>(from, out.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto once = static_cast<double>(bytes);
  const std::vector<cookbook::Benchmark> host_rows = {
      gpu::timed_row("cudaMemcpy, pageable memory", once,
                     [&] { CUDA_CHECK(cudaMemcpyAsync(out.data(), pageable.data(), bytes, cudaMemcpyHostToDevice)); }),
      gpu::timed_row("cudaMemcpy, pinned memory", once,
                     [&] { CUDA_CHECK(cudaMemcpyAsync(out.data(), pinned.data(), bytes, cudaMemcpyHostToDevice)); }),
      gpu::timed_row("a kernel reads pinned memory", once, [&] { run_copy(pinned.data()); }),
      {"a kernel reads managed memory", once,
       [&] {
         CUDA_CHECK(cudaDeviceSynchronize());
         std::copy(pageable.begin(), pageable.end(), managed);  // the pages are with the host again
         gpu::EventTimer timer;
         timer.start();
         run_copy(managed);
         return timer.stop();
       }},
      gpu::timed_row("the kernel reads it again", once, [&] { run_copy(managed); })};
  for (const cookbook::Benchmark& row : host_rows) {
    out.poison();
    row.run();
    checks.that(fmt::format("{}: the device has the host's numbers", row.name), out.to_host() == pageable);
  }
  cookbook::Figures from_host(fmt::format("{} numbers from the host to the device", count), cookbook::rate("GB/s", 1e9),
                              gpu::device());
  from_host.percent_of("cudaMemcpy, pinned memory", "pinned");
  from_host.measure(host_rows, rounds);
  from_host.print(checks);
  CUDA_CHECK(cudaFree(managed));

  // One load after the other.
  std::vector<cookbook::Benchmark> rings;
  const std::vector<std::size_t> small_cycle = random_cycle(small_ring);
  std::vector<unsigned> distances(small_ring);
  for (unsigned i = 0; i < small_ring; ++i) distances[i] = static_cast<unsigned>(small_cycle[i] * sizeof(unsigned));
  const gpu::DeviceArray<unsigned> ring(distances);
  CUDA_CHECK(cudaMemcpyToSymbol(ring_in_constant_memory, distances.data(), small_ring * sizeof(unsigned)));
  gpu::DeviceArray<unsigned> small_end(1);
  const auto small_row = [&](const std::string& name, auto start) {
    rings.push_back(gpu::timed_row(name, steps, start));
    small_end.poison();
    rings.back().run();
    checks.equal("end of the ring: " + name, small_end.to_host()[0] / sizeof(unsigned), after(small_cycle, steps));
  };
  small_row("shared memory", [&] {
    follow_in_shared_memory<<<1, 1>>>(ring.data(), steps, small_end.data());
    CUDA_CHECK(cudaGetLastError());
  });
  small_row("constant memory", [&] {
    follow_in_constant_memory<<<1, 1>>>(steps, small_end.data());
    CUDA_CHECK(cudaGetLastError());
  });

  gpu::DeviceArray<const Line*> end(1);
  const auto row_of_lines = [&](const std::string& name, Line* lines, std::size_t places) {
    const std::vector<std::size_t> next = random_cycle(places);
    std::vector<Line> host(places);
    for (std::size_t i = 0; i < places; ++i) host[i].next = reinterpret_cast<unsigned long long>(lines + next[i]);
    CUDA_CHECK(cudaMemcpy(lines, host.data(), places * sizeof(Line), cudaMemcpyDefault));
    rings.push_back(gpu::timed_row(name, steps, [lines, steps, &end] {
      follow_lines<<<1, 1>>>(lines, steps, end.data());
      CUDA_CHECK(cudaGetLastError());
    }));
    end.poison();
    rings.back().run();
    checks.equal("end of the ring: " + name, static_cast<std::size_t>(end.to_host()[0] - lines), after(next, steps));
  };
  constexpr std::size_t lines_per_mib = (1 << 20) / sizeof(Line);
  gpu::DeviceArray<Line> in_l1(lines_per_mib / 64), in_l2(8 * lines_per_mib), beyond(largest_ring * lines_per_mib);
  PinnedArray<Line> of_host(16 * lines_per_mib);
  row_of_lines("global memory, 16 KiB", in_l1.data(), in_l1.size());
  row_of_lines("global memory, 8 MiB", in_l2.data(), in_l2.size());
  row_of_lines(fmt::format("global memory, {} MiB", largest_ring), beyond.data(), beyond.size());
  row_of_lines("pinned memory of the host, 16 MiB", of_host.data(), of_host.size());

  cookbook::Figures latency(fmt::format("{} loads by one thread, one after the other, per load", steps),
                            cookbook::cost("ns", 1e-9), gpu::device());
  latency.measure(rings, rounds);
  latency.print(checks);
  return checks.exit_code();
}
