// Prefix sums and compaction, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_scan/cuda_scan_bench.cu common/cookbook/*.cpp -lfmt -o cuda_scan_bench
// Run:     cuda_scan_bench [--large N] [--rounds N]

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <functional>
#include <vector>

#include "compact.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"

namespace {

__global__ void fill(unsigned* numbers, std::size_t count) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = (static_cast<unsigned>(i) * 2'654'435'761U) >> 16;
}

struct Way {
  const char* name;
  std::function<void(cudaStream_t)> run;
};

/// The rows of one table; each result is checked first.
void compare(cookbook::Checks& checks, const gpu::DeviceArray<unsigned>& in, int count, int rounds) {
  gpu::DeviceArray<unsigned> out(count), of_tile(tiles_of(count)), kept(1);
  TileMemory memory(tiles_of(count));
  std::size_t scratch_bytes = 0, needed = 0;
  CUDA_CHECK(cub::DeviceScan::InclusiveSum(nullptr, scratch_bytes, in.data(), out.data(), count));
  CUDA_CHECK(cub::DeviceSelect::If(nullptr, needed, in.data(), out.data(), kept.data(), count, IsOdd{}));
  scratch_bytes = std::max(scratch_bytes, needed);
  gpu::DeviceArray<char> scratch(scratch_bytes);
  const unsigned tiles = tiles_of(count);

  const auto in_one_launch = [&](const unsigned* from, unsigned* to, std::size_t many, cudaStream_t stream) {
    scan<<<tiles_of(many), threads, 0, stream>>>(from, to, many, memory.cleared(stream));
    CUDA_CHECK(cudaGetLastError());
  };
  const std::vector<Way> scans = {
      {"three launches",
       [&](cudaStream_t stream) {
         sum_tiles<<<tiles, threads, 0, stream>>>(in.data(), count, of_tile.data());
         CUDA_CHECK(cudaGetLastError());
         in_one_launch(of_tile.data(), of_tile.data(), tiles, stream);
         scan<<<tiles, threads, 0, stream>>>(in.data(), out.data(), count, KnownTiles{of_tile.data()});
         CUDA_CHECK(cudaGetLastError());
       }},
      {"one launch", [&](cudaStream_t stream) { in_one_launch(in.data(), out.data(), count, stream); }},
      {"cub::DeviceScan", [&](cudaStream_t stream) {
         CUDA_CHECK(cub::DeviceScan::InclusiveSum(scratch.data(), scratch_bytes, in.data(), out.data(), count, stream));
       }}};
  const std::vector<Way> selections = {
      {"one launch",
       [&](cudaStream_t stream) {
         compact<<<tiles, threads, 0, stream>>>(in.data(), out.data(), count, kept.data(), memory.cleared(stream));
         CUDA_CHECK(cudaGetLastError());
       }},
      {"cub::DeviceSelect", [&](cudaStream_t stream) {
         CUDA_CHECK(cub::DeviceSelect::If(scratch.data(), scratch_bytes, in.data(), out.data(), kept.data(), count,
                                          IsOdd{}, stream));
       }}};

  std::vector<unsigned> sums, odd_numbers;
  sums.reserve(count);
  unsigned sum = 0;
  for (const unsigned number : in.to_host()) {
    if (sums.size() == std::size_t(count)) break;
    sums.push_back(sum += number);
    if (IsOdd{}(number)) odd_numbers.push_back(number);
  }
  for (const Way& way : scans) {
    out.poison();
    way.run(nullptr);
    checks.that(fmt::format("{} prefix sums, {}, are right", count, way.name), out.to_host() == sums);
  }
  for (const Way& way : selections) {
    out.poison();
    kept.poison();
    way.run(nullptr);
    std::vector<unsigned> found = out.to_host();
    found.resize(std::min<std::size_t>(found.size(), kept.to_host()[0]));
    checks.that(fmt::format("odd ones of {} numbers, {}, are right", count, way.name), found == odd_numbers);
  }

  const auto measure = [&](const std::string& what, double bytes, const std::vector<Way>& ways, const char* library) {
    std::vector<cookbook::Benchmark> rows;
    const double copied = 2.0 * count * sizeof(unsigned);
    rows.push_back(gpu::graph_row("copy", copied, [&](cudaStream_t stream) {
      copy<<<tiles, threads, 0, stream>>>(in.data(), out.data(), count);
      CUDA_CHECK(cudaGetLastError());
    }));
    for (const Way& way : ways) rows.push_back(gpu::graph_row(way.name, bytes, way.run));
    cookbook::Figures figures(what, cookbook::rate("GB/s", 1e9), gpu::device());
    figures.percent_of("copy");
    figures.speedup_over(library, "CUB");
    figures.measure(rows, rounds);
    figures.print(checks);
  };
  measure(fmt::format("prefix sums of {} numbers", count), 2.0 * count * sizeof(unsigned), scans, "cub::DeviceScan");
  const auto selected = static_cast<double>(odd_numbers.size());
  measure(fmt::format("{} odd ones of {} numbers", odd_numbers.size(), count), (count + selected) * sizeof(unsigned),
          selections, "cub::DeviceSelect");
}

}  // namespace

int main(int argc, char** argv) {
  int large = 1 << 28, rounds = 15;
  cookbook::Options options("What prefix sums and compaction cost on a GPU");
  options.add("large", large, "numbers in the last two tables", 1'100'003, 1 << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  gpu::DeviceArray<unsigned> in(large);
  fill<<<static_cast<unsigned>((in.size() + 255) / 256), 256>>>(in.data(), in.size());
  CUDA_CHECK(cudaGetLastError());
  cookbook::Checks checks;
  compare(checks, in, std::min(large, 1 << 20), rounds);
  compare(checks, in, large, rounds);
  return checks.exit_code();
}
