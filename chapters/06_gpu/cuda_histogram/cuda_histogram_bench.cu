// Histograms, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_histogram/cuda_histogram_bench.cu common/cookbook/*.cpp -lfmt -o cuda_histogram_bench
// Run:     cuda_histogram_bench [--count N] [--rounds N]

#include <cub/device/device_histogram.cuh>
#include <functional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "histogram.cuh"

namespace {

enum class Values { uniform, normal, equal };

/// Uniform: all values are equally frequent. Normal: the sum of four such numbers, 0 to 63 each, so those near 126 are
/// frequent.
__global__ void fill(Sample* samples, std::size_t count, Values values) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int value = 77;
  if (values == Values::uniform) value = static_cast<int>((gpu::random_number(1, i) + 1) * 128);
  if (values == Values::normal) {
    value = 0;
    for (int seed = 1; seed <= 4; ++seed) value += static_cast<int>((gpu::random_number(seed, i) + 1) * 32);
  }
  samples[i] = static_cast<Sample>(value);
}

void compare(cookbook::Checks& checks, const char* what, Values values, std::size_t count, int rounds) {
  gpu::DeviceArray<Sample> samples(count);
  gpu::DeviceArray<unsigned> counts(bins);
  fill<<<static_cast<unsigned>((count + 255) / 256), 256>>>(samples.data(), count, values);
  CUDA_CHECK(cudaGetLastError());

  const auto by = [&](auto kernel) {
    return [&, kernel, blocks = gpu::resident_blocks(kernel, threads)](cudaStream_t stream) {
      CUDA_CHECK(cudaMemsetAsync(counts.data(), 0, bins * sizeof(unsigned), stream));
      kernel<<<blocks, threads, 0, stream>>>(samples.data(), count, counts.data());
      CUDA_CHECK(cudaGetLastError());
    };
  };
  std::size_t scratch_bytes = 0;
  const auto by_cub = [&](void* scratch, cudaStream_t stream) {
    CUDA_CHECK(cub::DeviceHistogram::HistogramEven(scratch, scratch_bytes, samples.data(), counts.data(), bins + 1, 0,
                                                   bins, static_cast<int>(count), stream));
  };
  by_cub(nullptr, nullptr);
  gpu::DeviceArray<char> scratch(scratch_bytes);

  struct Way {
    const char* name;
    std::function<void(cudaStream_t)> run;
    int repeats = 5;
  };
  const std::vector<Way> ways = {
      {"in the device's memory", by(count_in_global), 1},
      {"in shared memory", by(count_in_shared<1>)},
      {"in shared memory, 2 sets", by(count_in_shared<2>)},
      {"in shared memory, 4 sets", by(count_in_shared<4>)},
      {"in shared memory, 8 sets", by(count_in_shared<8>)},
      {"in shared memory, 16 sets", by(count_in_shared<16>)},
      {"in shared memory, 32 sets", by(count_in_shared<32>)},
      {"cub::DeviceHistogram", [&](cudaStream_t stream) { by_cub(scratch.data(), stream); }}};

  std::vector<unsigned> expected(bins);
  for (const Sample sample : samples.to_host()) ++expected[sample];
  const auto bytes = static_cast<double>(count);
  std::vector<cookbook::Benchmark> rows = {gpu::graph_row("read only", bytes, by(only_read), 5)};
  for (const Way& way : ways) {
    counts.poison();
    way.run(nullptr);
    checks.that(fmt::format("{}, {}: all counts are right", what, way.name), counts.to_host() == expected);
    rows.push_back(gpu::graph_row(way.name, bytes, way.run, way.repeats));
  }
  cookbook::Figures figures(fmt::format("{} bytes, {}", count, what), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.percent_of("read only");
  figures.speedup_over("cub::DeviceHistogram", "CUB");
  figures.measure(rows, rounds);
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28;
  int rounds = 15;
  cookbook::Options options("What a histogram costs on a GPU");
  options.add("count", count, "bytes to count", 10'000'019, std::size_t{1} << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cookbook::Checks checks;
  compare(checks, "uniform", Values::uniform, count, rounds);
  compare(checks, "normal", Values::normal, count, rounds);
  compare(checks, "all equal", Values::equal, count, rounds);
  return checks.exit_code();
}
