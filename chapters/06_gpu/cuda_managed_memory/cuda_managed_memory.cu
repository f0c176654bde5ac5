// Managed memory
//
// The host writes an array, a kernel changes it, the host reads it: with copies that the program makes itself, and in
// managed memory, which has one address for both. There the driver moves the pages: when somebody touches one, in one
// piece when the program asks for it (prefetch), or not at all. The program prints what each part takes, and in which
// part the moving hides. At the end both only read, and an advice lets both keep the pages.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_managed_memory/cuda_managed_memory.cu common/cookbook/*.cpp -lfmt -o cuda_managed_memory
// Run:     cuda_managed_memory [--count N]

#include <algorithm>
#include <numeric>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "managed.hpp"
#include "milliseconds.hpp"
#include "stream.hpp"

namespace {

__global__ void add_one(unsigned* numbers, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) ++numbers[i];
}

__global__ void search(const unsigned* numbers, std::size_t count, unsigned wanted, unsigned* found) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count && numbers[i] == wanted) atomicAdd(found, 1);
}

/// The pages stay where the host has them; the device reads and writes them over the bus.
void stay_on_host(const void* numbers, std::size_t bytes) {
  CUDA_CHECK(cudaMemAdvise(numbers, bytes, cudaMemAdviseSetPreferredLocation, on_host()));
  CUDA_CHECK(cudaMemAdvise(numbers, bytes, cudaMemAdviseSetAccessedBy, on_device()));
}

/// A page that is only read may be in both places. The call has to name a place, but this advice does not use it.
void read_mostly(const void* numbers, std::size_t bytes) {
  CUDA_CHECK(cudaMemAdvise(numbers, bytes, cudaMemAdviseSetReadMostly, on_device()));
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + 255) / 256); }

/// How many of the numbers are not first, first + 1, first + 2 and so on; the host reads all of them.
std::size_t wrong_numbers(const unsigned* numbers, std::size_t count, unsigned first) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += numbers[i] != first + static_cast<unsigned>(i);
  return wrong;
}

/// The job, with the fastest of three times for each part by itself. For managed memory `host` and `device` are the
/// same.
template <typename In, typename Out>
std::size_t run(const char* way, unsigned* host, unsigned* device, std::size_t count, In in, Out out) {
  double best[4] = {1e9, 1e9, 1e9, 1e9};
  std::size_t wrong = 0;
  for (unsigned round = 0; round < 3; ++round) {
    std::iota(host, host + count, 3 * round);  // not what the last round has left
    const double times[] = {milliseconds(in), milliseconds([&] {
                              add_one<<<blocks_for(count), 256>>>(device, count);
                              CUDA_CHECK(cudaGetLastError());
                            }),
                            milliseconds(out),
                            milliseconds([&] { wrong += wrong_numbers(host, count, 3 * round + 1); })};
    std::transform(best, best + 4, times, best, [](double a, double b) { return std::min(a, b); });
  }
  cookbook::println("{:<34}{:8.2f} ms {:8.2f} ms {:8.2f} ms {:8.2f} ms", way, best[0], best[1], best[2], best[3]);
  return wrong;
}

/// Kernel and host only read, one after the other, twice; the second time is printed.
std::size_t read_in_turns(const char* way, unsigned* numbers, std::size_t count) {
  gpu::DeviceArray<unsigned> found(1);
  double kernel = 0, host = 0;
  std::size_t wrong = 0;
  for (int round = 0; round < 2; ++round) {
    found.zero();
    kernel = milliseconds([&] {
      search<<<blocks_for(count), 256>>>(numbers, count, 7, found.data());
      CUDA_CHECK(cudaGetLastError());
    });
    host = milliseconds([&] { wrong += wrong_numbers(numbers, count, 7); });
    wrong += found.to_host()[0] != 1;
  }
  cookbook::println("{:<46}{:8.2f} ms             {:8.2f} ms", way, kernel, host);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Let the driver move memory between host and device");
  options.add("count", count, "numbers in the array", 1, 1 << 28);
  options.parse(argc, argv);
  if (!gpu::device_found() || !pages_move()) return gpu::skipped;

  const std::size_t bytes = count * sizeof(unsigned);
  const auto nothing = [] {};
  std::size_t wrong = 0;
  cookbook::println("{:<34}{:>11} {:>11} {:>11} {:>11}", "", "in", "kernel", "out", "host reads");

  PinnedArray<unsigned> pinned(count);
  gpu::DeviceArray<unsigned> device(count);
  wrong += run(
      "copies", pinned.data(), device.data(), count,
      [&] { CUDA_CHECK(cudaMemcpyAsync(device.data(), pinned.data(), bytes, cudaMemcpyHostToDevice)); },
      [&] { CUDA_CHECK(cudaMemcpyAsync(pinned.data(), device.data(), bytes, cudaMemcpyDeviceToHost)); });

  ManagedArray<unsigned> managed(count);
  unsigned* numbers = managed.data();
  wrong += run("managed, moved when touched", numbers, numbers, count, nothing, nothing);
  wrong += run(
      "managed, prefetched", numbers, numbers, count, [&] { prefetch(numbers, bytes, on_device()); },
      [&] { prefetch(numbers, bytes, on_host()); });
  stay_on_host(numbers, bytes);
  wrong += run("managed, stays on the host", numbers, numbers, count, nothing, nothing);

  for (const bool advised : {false, true}) {
    ManagedArray<unsigned> table(count);
    std::iota(table.data(), table.data() + count, 7U);
    if (advised) read_mostly(table.data(), bytes);
    wrong +=
        read_in_turns(advised ? "read by both in turns, read mostly" : "read by both in turns", table.data(), count);
  }

  cookbook::Checks checks;
  checks.equal("wrong numbers", wrong, 0U);
  return checks.exit_code();
}
