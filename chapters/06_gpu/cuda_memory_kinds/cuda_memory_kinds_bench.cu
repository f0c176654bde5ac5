// Kinds of memory, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds_bench.cu common/cookbook/*.cpp -lfmt -o cuda_memory_kinds_bench
// Run:     cuda_memory_kinds_bench [--count N] [--ring N] [--steps N] [--rounds N]

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "rings.cuh"
#include "stream.hpp"

namespace {

__global__ void copy(const unsigned* in, unsigned* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i];
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
  const std::vector<Ring> rings = make_rings(steps, largest_ring);  // first: what follows drives them from the caches

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
  std::vector<cookbook::Benchmark> loads;
  for (const Ring& ring : rings) {
    ring.start();
    checks.that("end of the ring: " + ring.memory, ring.right());
    loads.push_back(gpu::timed_row(ring.memory, steps, ring.start));
  }
  cookbook::Figures latency(fmt::format("{} loads by one thread, one after the other, per load", steps),
                            cookbook::cost("ns", 1e-9), gpu::device());
  latency.measure(loads, rounds);
  latency.print(checks);
  return checks.exit_code();
}
