// Reduction on a GPU
//
// An operation on two values, such as a + b, becomes one that combines any number of values. One after another, 10,000
// values take 9,999 additions in a row. As a tree they take as many additions, but those of one level do not wait for
// each other, and there are only 14 levels. The kernel is such a tree in three parts, with a few more levels: the
// threads of a warp, the warps of a block, the blocks of the grid. Any operation will do whose values may be combined
// in any order.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_reduction/cuda_reduction.cu common/cookbook/*.cpp -lfmt -o cuda_reduction
// Run:     cuda_reduction [--count N] [--warps N]

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
  __host__ __device__ Value operator()(Value a, Value b) const {
    return a + b;
  }
};

struct Product {
  __host__ __device__ long long operator()(long long a, long long b) const { return a * b; }
};

struct Maximum {
  __host__ __device__ long long operator()(long long a, long long b) const { return a < b ? b : a; }
};

/// 1, 2, 3 ... count
std::vector<long long> first_integers(int count) {
  std::vector<long long> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 10'000, warps = 8;
  cookbook::Options options("Combine many values into one on a GPU");
  options.add("count", count, "values to combine", 0, 100'000'000);
  options.add("warps", warps, "warps per block, of 32 threads each", 1, 32);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<long long> numbers = first_integers(count), twenty = first_integers(20);
  const gpu::DeviceArray<long long> on_device(numbers), twenty_on_device(twenty);
  constexpr long long least = std::numeric_limits<long long>::min();

  cookbook::Checks checks;
  checks.equal("sum", reduced(on_device, Sum{}, 0LL, warps), std::accumulate(numbers.begin(), numbers.end(), 0LL));
  checks.equal("maximum", reduced(on_device, Maximum{}, least, warps),
               std::accumulate(numbers.begin(), numbers.end(), least, Maximum{}));
  checks.equal("product of 1 to 20", reduced(twenty_on_device, Product{}, 1LL, warps),
               std::accumulate(twenty.begin(), twenty.end(), 1LL, Product{}));

  // Floats are rounded at each addition, so another order of the additions would give other bits. Here it never
  // changes.
  const gpu::DeviceArray<float> floats(gpu::random_numbers(4, count));
  std::set<float> sums;
  for (int run = 0; run < 20; ++run) sums.insert(reduced(floats, Sum{}, 0.0F, warps));
  checks.equal("different sums of random floats in 20 runs", sums.size(), 1U);
  cookbook::println("the sum of the floats: {}", *sums.begin());
  return checks.exit_code();
}
