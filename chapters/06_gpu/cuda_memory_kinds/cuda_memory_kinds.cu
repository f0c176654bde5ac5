// Kinds of memory
//
// A kernel reads an array that the host has written. The host has it in memory of four kinds: pageable and pinned
// memory, which are copied to the device first; mapped memory, which the kernel reads where it is; and managed memory,
// whose pages move to the device when the kernel touches them. The program prints how long it takes until the kernel
// has read the array once, how long it takes to read it again, and how long if the kernel needs only a hundred numbers
// of it.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds.cu common/cookbook/*.cpp -lfmt -o cuda_memory_kinds
// Run:     cuda_memory_kinds [--count N]

#include <algorithm>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "milliseconds.hpp"
#include "stream.hpp"  // PinnedArray: cudaMallocHost, cudaFreeHost

namespace {

/// Reads every number, or with a larger stride a few, and counts those that are `wanted`.
__global__ void search(const unsigned* numbers, std::size_t count, std::size_t stride, unsigned wanted,
                       unsigned* found) {
  const std::size_t i = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * stride;
  if (i < count && numbers[i] == wanted) atomicAdd(found, 1);
}

/// The numbers are in `host`, and the kernel reads them from `device`: a copy in the device's own memory, or the same
/// address. Prints the fastest of three times, and returns how often the kernel did not find the last number that it
/// had to read.
int run(const char* kind, unsigned* host, unsigned* device, std::size_t count) {
  const std::size_t bytes = count * sizeof(unsigned), apart = (count + 99) / 100;
  gpu::DeviceArray<unsigned> found(1);
  int failed = 0;
  const auto read = [&](std::size_t stride) {
    const std::size_t reads = (count + stride - 1) / stride;
    const auto last = static_cast<unsigned>((reads - 1) * stride);
    search<<<static_cast<unsigned>((reads + 255) / 256), 256>>>(device, count, stride, last, found.data());
    CUDA_CHECK(cudaGetLastError());
  };
  const auto bring_and_read = [&](std::size_t stride) {
    if (device != host) CUDA_CHECK(cudaMemset(device, 0xFF, bytes));  // no copy from before
    std::iota(host, host + count, 0U);                                // managed pages are with the host again
    CUDA_CHECK(cudaDeviceSynchronize());
    return milliseconds([&] {
      if (device != host) CUDA_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
      read(stride);
    });
  };

  double all = 1e9, again = 1e9, few = 1e9;
  for (int round = 0; round < 3; ++round) {
    found.zero();
    all = std::min(all, bring_and_read(1));
    again = std::min(again, milliseconds([&] { read(1); }));
    few = std::min(few, bring_and_read(apart));
    const int missed =
        3 - static_cast<int>(found.to_host()[0]);  // each of the three kernels finds the last number once
    failed += missed;
  }
  cookbook::println("{:<26}{:9.2f} ms {:9.2f} ms {:9.3f} ms", kind, all, again, few);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Read the host's memory from a kernel");
  options.add("count", count, "numbers in the array", 1, 1 << 28);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  std::vector<unsigned> pageable(count);
  PinnedArray<unsigned> pinned(count);
  unsigned* managed;
  CUDA_CHECK(cudaMallocManaged(&managed, count * sizeof(unsigned)));
  gpu::DeviceArray<unsigned> device(count);

  cookbook::println("{:<26}{:>12} {:>12} {:>12}", "a kernel reads",
                    fmt::format("all {:.0f} MB", 1e-6 * sizeof(unsigned) * count), "all again", "100 numbers");
  int failed = run("pageable memory, copied", pageable.data(), device.data(), count);  // two addresses: a copy
  failed += run("pinned memory, copied", pinned.data(), device.data(), count);
  failed += run("pinned memory, mapped", pinned.data(), pinned.data(), count);  // the same address: no copy
  failed += run("managed memory", managed, managed, count);

  CUDA_CHECK(cudaFree(managed));
  cookbook::Checks checks;
  checks.equal("times that a kernel missed the last number", failed, 0);
  return checks.exit_code();
}
