// Reduction
//
// An operation on two values, such as a + b, becomes one that combines any number of them. The program adds up floats
// in a chain, as one thread does; with an atomic addition per thread; and as a tree, which a single launch builds of
// the threads of each warp, the warps of each block and the blocks of the grid. Floats are rounded at every addition,
// so the result depends on the order of the additions: the program adds up 20 times, and prints beside the time how
// many different sums came out, and how far the worst is from that in double precision.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_reduction/cuda_reduction.cu common/cookbook/*.cpp -lfmt -o cuda_reduction
// Run:     cuda_reduction [--count N] [--warps N]

#include <algorithm>
#include <cmath>
#include <cub/device/device_reduce.cuh>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
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

/// Runs `seconds_of_run()` 20 times, which returns how long one sum took, and reads the sum by `result()`. Prints the
/// shortest time, how many different sums there were, and how far the worst is from `exact`. Returns the sums.
template <typename Run, typename Result>
std::set<float> row(const char* what, double exact, Run seconds_of_run, Result result) {
  double seconds = std::numeric_limits<double>::infinity(), off = 0;
  std::set<float> sums;
  for (int i = 0; i < 20; ++i) {
    seconds = std::min(seconds, seconds_of_run());
    const float sum = result();
    sums.insert(sum);
    off = std::max(off, std::abs(sum - exact));
  }
  cookbook::println("{:<31}{:9.1f} us{:17}{:19.0f}", what, seconds * 1e6, sums.size(), off);
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
  cookbook::println("{:<31}{:>12}{:>17}{:>19}", "", "time", "different sums", "off by at most");

  float in_a_chain = 0;
  const auto chain = [&] {
    const cookbook::Stopwatch watch;
    in_a_chain = std::accumulate(numbers.begin(), numbers.end(), 0.0F);
    return watch.seconds();
  };
  row("a chain, on the processor", exact, chain, [&] { return in_a_chain; });

  const gpu::DeviceArray<float> values(numbers);
  const auto device_row = [&](const char* what, gpu::DeviceArray<float>& sum, auto work) {
    gpu::EventTimer timer;
    const auto seconds_of_run = [&] {
      sum.zero();
      timer.start();
      work();
      return timer.stop();
    };
    return row(what, exact, seconds_of_run, [&] { return sum.to_host().front(); });
  };
  gpu::DeviceArray<float> sum(1);
  const int blocks = gpu::resident_blocks(add_atomically, 32 * warps);
  device_row("an atomic addition per thread", sum, [&] {
    add_atomically<<<blocks, 32 * warps>>>(values.data(), count, sum.data());
    CUDA_CHECK(cudaGetLastError());
  });
  Reduction<float, Sum> tree(Sum{}, 0, warps);
  const std::set<float> of_tree = device_row("a tree", tree.result(), [&] { tree.start(values.data(), count); });
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, values.data(), sum.data(), count));
  gpu::DeviceArray<char> scratch(bytes);
  device_row("cub::DeviceReduce", sum,
             [&] { CUDA_CHECK(cub::DeviceReduce::Sum(scratch.data(), bytes, values.data(), sum.data(), count)); });

  cookbook::Checks checks;
  checks.equal("different sums of the tree in 20 runs", of_tree.size(), 1U);
  checks.that("the tree's sum is right to 1 in a million", std::abs(*of_tree.begin() - exact) <= 1e-6 * exact);

  // Any operation will do whose values may be combined in any order.
  std::vector<long long> integers(10'000);
  std::iota(integers.begin(), integers.end(), 1);
  const gpu::DeviceArray<long long> on_device(integers);
  checks.equal("sum of 1 to 10000, by the tree", reduced(on_device, Sum{}, 0LL, warps), 50'005'000LL);
  checks.equal("the largest of them", reduced(on_device, Maximum{}, std::numeric_limits<long long>::min(), warps),
               10'000LL);
  return checks.exit_code();
}
