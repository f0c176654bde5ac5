// Histogram
//
// Counts how often each of the 256 values of a byte occurs. Many threads may meet the same value at the same time, so
// they count by atomic additions. The program compares where the counters are: in the device's memory, one set for all
// threads; in shared memory, one set per block; there again, 32 sets per block. Each way counts random bytes, and bytes
// that are all equal.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_histogram/cuda_histogram.cu common/cookbook/*.cpp -lfmt -o cuda_histogram
// Run:     cuda_histogram [--count N]

#include <algorithm>
#include <array>
#include <cub/device/device_histogram.cuh>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "histogram.cuh"

namespace {

__global__ void fill(Sample* samples, std::size_t count, bool random) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) samples[i] = random ? static_cast<Sample>((gpu::random_number(1, i) + 1) * 128) : 77;
}

/// Samples on the device, and how often each value occurs, counted by the processor.
struct Data {
  Data(std::size_t count, bool random) : samples(count), expected(bins) {
    fill<<<static_cast<unsigned>((count + 255) / 256), 256>>>(samples.data(), count, random);
    CUDA_CHECK(cudaGetLastError());
    for (const Sample sample : samples.to_host()) ++expected[sample];
  }

  gpu::DeviceArray<Sample> samples;
  std::vector<unsigned> expected;
};

/// The fastest of three runs in seconds, or -1 if a count is wrong. The counts are 0 when `work` starts.
template <typename Work>
double best_of_three(const Data& data, Work work) {
  gpu::DeviceArray<unsigned> counts(bins);
  gpu::EventTimer timer;
  double seconds = 1e9;
  for (int run = 0; run < 3; ++run) {
    counts.zero();
    timer.start();
    work(data.samples, counts.data());
    seconds = std::min(seconds, timer.stop());
    if (counts.to_host() != data.expected) return -1;
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28;
  cookbook::Options options("Count how often each byte occurs, on a GPU");
  options.add("count", count, "bytes to count", 1, std::size_t{1} << 30);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Data uniform(count, true), equal(count, false);
  int wrong = 0;
  const auto rate = [&](double seconds) {
    return seconds < 0 ? "wrong" : fmt::format("{:.1f} GB/s", count / seconds * 1e-9);
  };
  const auto show = [&](const char* what, const auto& work) {
    const double seconds[] = {best_of_three(uniform, work), best_of_three(equal, work)};
    wrong += (seconds[0] < 0) + (seconds[1] < 0);
    cookbook::println("{:<30}{:>13}{:>16}", what, rate(seconds[0]), rate(seconds[1]));
  };
  const auto by = [](auto kernel) {  // as many blocks as the device runs at once
    return [kernel, blocks = gpu::resident_blocks(kernel, threads)](const auto& samples, unsigned* counts) {
      kernel<<<blocks, threads>>>(samples.data(), samples.size(), counts);
      CUDA_CHECK(cudaGetLastError());
    };
  };

  cookbook::println("{:<30}{:>13}{:>16}", "counters", "random", "all equal");
  show("in the device's memory", by(count_in_global));
  show("in shared memory", by(count_in_shared<1>));
  show("in shared memory, 32 sets", by(count_in_shared<32>));

  std::size_t scratch_bytes = 0;
  CUDA_CHECK(cub::DeviceHistogram::HistogramEven(nullptr, scratch_bytes, uniform.samples.data(),
                                                 static_cast<unsigned*>(nullptr), bins + 1, 0, bins,
                                                 static_cast<int>(count)));
  gpu::DeviceArray<char> scratch(scratch_bytes);
  show("cub::DeviceHistogram", [&](const auto& samples, unsigned* counts) {
    CUDA_CHECK(cub::DeviceHistogram::HistogramEven(scratch.data(), scratch_bytes, samples.data(), counts, bins + 1, 0,
                                                   bins, static_cast<int>(count)));
  });

  cookbook::Checks checks;
  checks.equal("ways with a wrong count", wrong, 0);
  return checks.exit_code();
}
