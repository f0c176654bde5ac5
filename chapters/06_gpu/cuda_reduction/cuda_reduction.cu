// Reduction
//
// An operation on two values, such as a + b, becomes one that combines any number of them. The program adds up floats
// in a chain, as one thread does; with an atomic addition per thread; and as a tree, which a single launch builds of
// the threads of each warp, the warps of each block and the blocks of the grid. Floats are rounded at every addition,
// so the order of the additions decides about the result: the program prints it beside the speed.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_reduction/cuda_reduction.cu common/cookbook/*.cpp -lfmt -o cuda_reduction
// Run:     cuda_reduction [--count N] [--warps N]

#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
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

/// Prints the speed of the fastest of 20 runs, and what became of their sums.
void print_row(const char* what, std::size_t count, double seconds, const std::set<float>& sums) {
  cookbook::println("{:<32}{:9.2f} GB/s  {:>2}  {}", what, static_cast<double>(count) * 4e-9 / seconds, sums.size(),
                    *sums.rbegin());
}

/// 20 runs on the device; `work` queues one, whose result will be in `sum`. Returns the sums that differ.
template <typename Work>
std::set<float> run(const char* what, std::size_t count, gpu::DeviceArray<float>& sum, Work work) {
  std::set<float> sums;
  gpu::EventTimer timer;
  double seconds = 1e9;
  for (int i = 0; i < 20; ++i) {
    sum.zero();
    timer.start();
    work();
    seconds = std::min(seconds, timer.stop());
    sums.insert(sum.to_host().front());
  }
  print_row(what, count, seconds, sums);
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
  cookbook::println("{:<32}{:>14}  different sums, one of them", "", "speed");

  const cookbook::Stopwatch watch;
  const float in_a_chain = std::accumulate(numbers.begin(), numbers.end(), 0.0F);
  print_row("the processor, in a chain", count, watch.seconds(), {in_a_chain});

  const gpu::DeviceArray<float> values(numbers);
  gpu::DeviceArray<float> sum(1);
  const int blocks = gpu::resident_blocks(add_atomically, 32 * warps);
  run("an atomic addition per thread", count, sum, [&] {
    add_atomically<<<blocks, 32 * warps>>>(values.data(), count, sum.data());
    CUDA_CHECK(cudaGetLastError());
  });
  Reduction<float, Sum> tree(Sum{}, 0, warps);
  const std::set<float> of_tree =
      run("a tree, in one launch", count, tree.result(), [&] { tree.start(values.data(), count); });
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, values.data(), sum.data(), count));
  gpu::DeviceArray<char> scratch(bytes);
  run("cub::DeviceReduce", count, sum,
      [&] { CUDA_CHECK(cub::DeviceReduce::Sum(scratch.data(), bytes, values.data(), sum.data(), count)); });

  cookbook::println("{:<50}{}", "exact", exact);
  cookbook::Checks checks;
  checks.equal("different sums of the tree in 20 runs", of_tree.size(), 1U);
  checks.that("the tree's sum is exact but for 1 in a million", std::abs(*of_tree.begin() - exact) <= 1e-6 * exact);

  // Any operation will do whose values may be combined in any order.
  std::vector<long long> integers(10'000);
  std::iota(integers.begin(), integers.end(), 1);
  const gpu::DeviceArray<long long> on_device(integers);
  checks.equal("sum of 1 to 10000", reduced(on_device, Sum{}, 0LL, warps), 50'005'000LL);
  checks.equal("the largest", reduced(on_device, Maximum{}, std::numeric_limits<long long>::min(), warps), 10'000LL);
  return checks.exit_code();
}
