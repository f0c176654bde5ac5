// Dot product on a GPU: map and reduce
//
// The dot product of two vectors takes two steps. The map makes one value per index, x[i] * y[i]. The reduction
// combines two values into one, a + b, until one is left. Only these two functions know that it is a dot product: with
// another reduction the same kernel finds the largest product. All numbers are integers, so the result is exact.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_dot_product/cuda_dot_product.cu common/cookbook/*.cpp -lfmt -o cuda_dot_product
// Run:     cuda_dot_product [--count N] [--blocks N] [--threads N]

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "map_reduce.cuh"

namespace {

/// The map: the product that belongs to an index. It has 64 bits, since that of two large 32-bit numbers needs them.
struct Product {
  const int* x;
  const int* y;
  __device__ long long operator()(int i) const { return static_cast<long long>(x[i]) * y[i]; }
};

struct Sum {
  __device__ long long operator()(long long a, long long b) const { return a + b; }
};

struct Maximum {
  __device__ long long operator()(long long a, long long b) const { return a < b ? b : a; }
};

}  // namespace

int main(int argc, char** argv) {
  int count = 400, blocks = 4, threads = 64;
  cookbook::Options options("Multiply two vectors index by index and add up the products, on a GPU");
  options.add("count", count, "elements of each vector", 0, 2'000'000);
  options.add("blocks", blocks, "blocks of the grid", 1, 65'535);
  options.add("threads", threads, "threads per block", 1, 1'024);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);  // both vectors are 0, 1, 2 ... 399
  const gpu::DeviceArray<int> x(numbers), y(numbers);
  const Product product{x.data(), y.data()};
  constexpr long long least = std::numeric_limits<long long>::min();

  const long long dot = map_reduce(count, product, Sum{}, 0LL, blocks, threads);
  const long long largest = map_reduce(count, product, Maximum{}, least, blocks, threads);
  const long long by_one_thread = map_reduce(count, product, Sum{}, 0LL, 1, 1);

  long long expected = 0, expected_largest = least;  // the processor's results
  for (const long long number : numbers) {
    expected += number * number;
    expected_largest = std::max(expected_largest, number * number);
  }

  cookbook::Checks checks;
  checks.equal("dot product", dot, expected);
  checks.equal("dot product, computed by a single thread", by_one_thread, expected);
  checks.equal("largest product", largest, expected_largest);
  return checks.exit_code();
}
