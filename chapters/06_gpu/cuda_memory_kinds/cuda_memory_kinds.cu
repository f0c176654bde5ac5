// Kinds of memory
//
// A kernel reads an array that the host has written, and then reads it again. The host has it in memory of four kinds:
// pageable and pinned memory, which are copied to the device first; mapped memory, which the kernel reads where it is;
// and managed memory, whose pages move to the device when the kernel touches them. The program prints how long it takes
// until the kernel has read the array the first time and the second time. At the end it shows how long a single load
// takes, from shared, constant and global memory of the device and from pinned memory of the host (rings.cuh).
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds.cu common/cookbook/*.cpp -lfmt -o cuda_memory_kinds
// Run:     cuda_memory_kinds [--count N]

#include <algorithm>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "milliseconds.hpp"
#include "rings.cuh"

namespace {

/// Reads all numbers and counts those that are `wanted`.
__global__ void search(const unsigned* numbers, std::size_t count, unsigned wanted, unsigned* found) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count && numbers[i] == wanted) atomicAdd(found, 1);
}

/// The numbers are in `host`, and the kernel reads them from `device`: a copy in the device's own memory, or the same
/// address. Prints the fastest of three times, and returns in how many rounds the last number was not found.
int run(const char* kind, unsigned* host, unsigned* device, std::size_t count) {
  const std::size_t bytes = count * sizeof(unsigned);
  const auto last = static_cast<unsigned>(count - 1);
  gpu::DeviceArray<unsigned> found(1);
  double first = 1e9, again = 1e9;
  int failed = 0;
  for (int round = 0; round < 3; ++round) {
    if (device != host) CUDA_CHECK(cudaMemset(device, 0xFF, bytes));  // no copy from before
    std::iota(host, host + count, 0U);                                // managed pages are with the host again
    found.zero();
    const auto read = [&] {
      search<<<static_cast<unsigned>((count + 255) / 256), 256>>>(device, count, last, found.data());
      CUDA_CHECK(cudaGetLastError());
    };
    CUDA_CHECK(cudaDeviceSynchronize());
    first = std::min(first, milliseconds([&] {
                       if (device != host) CUDA_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
                       read();
                     }));
    again = std::min(again, milliseconds(read));
    failed += found.to_host()[0] != 2;
  }
  cookbook::println("{:<28}{:8.2f} ms {:8.2f} ms", kind, first, again);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Read the host's memory from a kernel");
  options.add("count", count, "numbers in the array", 1, 1 << 28);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const int steps = 20'000;
  const std::vector<Ring> rings = make_rings(steps, 256);  // first: what follows drives them from the caches
  const std::size_t bytes = count * sizeof(unsigned);
  std::vector<unsigned> pageable(count);
  unsigned *pinned, *managed;
  CUDA_CHECK(cudaMallocHost(&pinned, bytes));
  CUDA_CHECK(cudaMallocManaged(&managed, bytes));
  gpu::DeviceArray<unsigned> device(count);

  cookbook::println("{:<28}{:>11} {:>11}", "the kernel has read it", "first", "again");
  int failed = run("pageable memory, copied", pageable.data(), device.data(), count);
  failed += run("pinned memory, copied", pinned, device.data(), count);
  failed += run("pinned memory, mapped", pinned, pinned, count);
  failed += run("managed memory", managed, managed, count);

  cookbook::println("a load takes, from");
  int wrong = 0;
  for (const Ring& ring : rings) {
    cookbook::println("{:<34}{:8.1f} ns", ring.memory, fastest(ring.start, 5) / steps * 1e9);
    wrong += !ring.right();
  }

  CUDA_CHECK(cudaFreeHost(pinned));
  CUDA_CHECK(cudaFree(managed));
  cookbook::Checks checks;
  checks.equal("rounds in which a search missed the last number", failed, 0);
  checks.equal("rings that end in the wrong place", wrong, 0);
  return checks.exit_code();
}
