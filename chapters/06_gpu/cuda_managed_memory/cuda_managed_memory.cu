// Managed memory
//
// The host writes an array, a kernel changes it, the host reads it: with copies that the program makes itself, and in
// managed memory, which has one address for both. There the driver moves the pages: when somebody touches one, before
// anybody does because the program asks for it (prefetch), or not at all. The program prints what each part takes.
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

/// The pages stay where the host has them; the device reads and writes them over the bus.
void stay_on_host(const void* numbers, std::size_t bytes) {
  CUDA_CHECK(cudaMemAdvise(numbers, bytes, cudaMemAdviseSetPreferredLocation, on_host()));
  CUDA_CHECK(cudaMemAdvise(numbers, bytes, cudaMemAdviseSetAccessedBy, on_device()));
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + 255) / 256); }

/// Reads one number of each page of 4 KiB, since a page moves as a whole. Volatile, so that the compiler leaves no load
/// out.
void touch_each_page(const volatile unsigned* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 1024) static_cast<void>(numbers[i]);
}

/// How many of the numbers are not first, first + 1, first + 2 and so on.
std::size_t wrong_numbers(const unsigned* numbers, std::size_t count, unsigned first) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += numbers[i] != first + static_cast<unsigned>(i);
  return wrong;
}

/// Where the host writes the numbers, the kernel changes them, and the host reads them. In managed memory they may be
/// the same.
struct Addresses {
  unsigned *input, *device, *results;
};

/// The job, three times; prints the parts of the fastest.
template <typename Before, typename After>
std::size_t run(const char* way, Addresses at, std::size_t count, Before before, After after) {
  double best[5] = {0, 0, 0, 0, 1e9};
  std::size_t wrong = 0;
  for (unsigned round = 0; round < 3; ++round) {
    std::iota(at.input, at.input + count, 3 * round);  // not what the last round has left
    const auto kernel = [&] {
      add_one<<<blocks_for(count), 256>>>(at.device, count);
      CUDA_CHECK(cudaGetLastError());
    };
    double times[5] = {milliseconds(before), milliseconds(kernel), milliseconds(after),
                       milliseconds([&] { touch_each_page(at.results, count); })};
    times[4] = times[0] + times[1] + times[2] + times[3];
    if (times[4] < best[4]) std::copy(times, times + 5, best);
    wrong += wrong_numbers(at.results, count, 3 * round + 1);
  }
  cookbook::println("{:<30}{:8.2f} ms {:8.2f} ms {:8.2f} ms {:8.2f} ms {:8.2f} ms", way, best[0], best[1], best[2],
                    best[3], best[4]);
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
  PinnedArray<unsigned> pinned(count);
  gpu::DeviceArray<unsigned> device(count);
  ManagedArray<unsigned> managed(count);
  unsigned* const numbers = managed.data();
  const Addresses one_place_for_all{numbers, numbers, numbers};
  const auto nothing = [] {};
  const auto copy = [&](unsigned* to, const unsigned* from) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault));
  };

  std::size_t wrong = 0;
  cookbook::println("{:<30}{:>11} {:>11} {:>11} {:>11} {:>11}", "", "before", "kernel", "after", "host reads",
                    "in all");
  wrong += run(
      "copies", {pinned.data(), device.data(), pinned.data()}, count, [&] { copy(device.data(), pinned.data()); },
      [&] { copy(pinned.data(), device.data()); });
  wrong += run("managed, moved when touched", one_place_for_all, count, nothing, nothing);
  wrong += run(
      "managed, prefetched", one_place_for_all, count, [&] { prefetch(numbers, bytes, on_device()); },
      [&] { prefetch(numbers, bytes, on_host()); });
  stay_on_host(numbers, bytes);
  wrong += run("managed, stays on the host", one_place_for_all, count, nothing, nothing);

  cookbook::Checks checks;
  checks.equal("wrong numbers", wrong, 0U);
  return checks.exit_code();
}
