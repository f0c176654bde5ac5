// Reduction
//
// An operation on two values, such as a + b, becomes one that combines any number of them. The program adds up floats
// in a chain, as one thread does; with an atomic addition per thread; and as a tree, which a single launch builds of
// the threads of each warp, the warps of each block and the blocks of the grid. Floats are rounded at every addition,
// so the result depends on the order of the additions: the program prints the sums beside the speed.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_reduction/cuda_reduction.cu common/cookbook/*.cpp -lfmt -o cuda_reduction
// Run:     cuda_reduction [--count N] [--warps N]

#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "fast_sum.cuh"
#include "reduce.cuh"

namespace {

struct Sum {
  template <typename Value>
  __device__ Value operator()(Value a, Value b) const {
    return a + b;
  }
};

struct Maximum {
  __device__ long long operator()(long long a, long long b) const { return a < b ? b : a; }
};

/// Each thread adds up its values, and then adds its sum to the result.
__global__ void add_atomically(const float* values, int count, float* sum) {
  float mine = 0;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += all_threads) mine += values[i];
  atomicAdd(sum, mine);
}

void print_row(const char* what, std::size_t count, double seconds, double seconds_of_few,
               const std::set<float>& sums) {
  cookbook::println("{:<36}{:8.2f} GB/s{:9.2f} us  {:>3}  {:.9g}", what, static_cast<double>(count) * 4e-9 / seconds,
                    seconds_of_few * 1e6, sums.size(), *sums.rbegin());
}

/// `work(values, count, stream)` queues one sum, whose result will be in `sum`. 20 runs with all values; then with 2^20
/// of them, each time others, so that no cache has them. Returns the sums of all values that differ.
template <typename Work>
std::set<float> run(const char* what, const gpu::DeviceArray<float>& values, gpu::DeviceArray<float>& sum, Work work) {
  const int count = static_cast<int>(values.size()), few = std::min(count, 1 << 20), parts = std::max(1, count >> 20);
  std::set<float> sums;
  gpu::EventTimer timer;
  double seconds = 1e9, seconds_of_few = 1e9;
  for (int i = 0; i < 20; ++i) {
    sum.zero();
    timer.start();
    work(values.data(), count, nullptr);
    seconds = std::min(seconds, timer.stop());
    sums.insert(sum.to_host().front());
  }
  // Recorded in a graph, which the device runs without waiting for the host.
  const auto next_part = [&, part = 0](cudaStream_t stream) mutable {
    work(values.data() + std::size_t(part++ % parts) * few, few, stream);
  };
  const cookbook::Benchmark row = gpu::graph_row(what, few, next_part, parts);
  for (int i = 0; i < 10; ++i) seconds_of_few = std::min(seconds_of_few, row.run());
  print_row(what, values.size(), seconds, seconds_of_few, sums);
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 26, warps = 8;
  cookbook::Options options("Combine many values into one on a GPU");
  options.add("count", count, "floats to add up", 0, 1 << 28);
  options.add("warps", warps, "warps per block, of 32 threads each", 1, 32);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  std::vector<float> numbers = gpu::random_numbers(4, count);
  for (float& number : numbers) number = (number + 1) / 2;  // at least 0 and below 1
  const double exact = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  cookbook::println("{:<36}{:>13}{:>12}  different sums, the largest", "", "all", "2^20");

  const auto chain = [&](int many) { return std::accumulate(numbers.begin(), numbers.begin() + many, 0.0F); };
  const cookbook::Stopwatch all;
  const float in_a_chain = chain(count);
  const double seconds = all.seconds();
  const cookbook::Stopwatch few;
  cookbook::do_not_optimize(chain(std::min(count, 1 << 20)));
  print_row("the processor, in a chain", count, seconds, few.seconds(), {in_a_chain});

  const gpu::DeviceArray<float> values(numbers);
  gpu::DeviceArray<float> sum(1);
  const int blocks = gpu::resident_blocks(add_atomically, 32 * warps);
  run("an atomic addition per thread", values, sum, [&](const float* first, int many, cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(sum.data(), 0, sizeof(float), stream));
    add_atomically<<<blocks, 32 * warps, 0, stream>>>(first, many, sum.data());
    CUDA_CHECK(cudaGetLastError());
  });
  Reduction<float, Sum> tree(Sum{}, 0, warps);
  const std::set<float> of_tree =
      run("a tree; last block to end adds up", values, tree.result(),
          [&](const float* first, int many, cudaStream_t stream) { tree.start(first, many, stream); });
  FastSum fast;
  run("a tree; last block to start adds up", values, fast.result(),
      [&](const float* first, int many, cudaStream_t stream) { fast.start(first, many, stream); });
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, values.data(), sum.data(), count));
  gpu::DeviceArray<char> scratch(bytes);
  run("cub::DeviceReduce", values, sum, [&](const float* first, int many, cudaStream_t stream) {
    CUDA_CHECK(cub::DeviceReduce::Sum(scratch.data(), bytes, first, sum.data(), many, stream));
  });

  cookbook::println("exact: {:.0f}", exact);
  cookbook::Checks checks;
  checks.equal("different sums of the tree in 20 runs", of_tree.size(), 1U);
  checks.that("the tree's sum is right to 1 in a million", std::abs(*of_tree.begin() - exact) <= 1e-6 * exact);

  // Any operation will do whose values may be combined in any order.
  std::vector<long long> integers(10'000);
  std::iota(integers.begin(), integers.end(), 1);
  const gpu::DeviceArray<long long> on_device(integers);
  checks.equal("sum of 1 to 10000", reduced(on_device, Sum{}, 0LL, warps), 50'005'000LL);
  checks.equal("the largest", reduced(on_device, Maximum{}, std::numeric_limits<long long>::min(), warps), 10'000LL);
  return checks.exit_code();
}
