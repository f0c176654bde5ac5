// Dot product: map and reduce
//
// A map makes one value per index, here x[i] * y[i]. A reduction combines two values into one, here a + b, until one is
// left. The program does it in two ways: it stores all products and then adds them up, as (x * y).sum() of NumPy does,
// or it makes both steps in one kernel, which stores no product. Beside them stands Thrust, NVIDIA's library for such
// patterns. Another reduction finds the largest product. All numbers are integers, so the results are exact.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_dot_product/cuda_dot_product.cu common/cookbook/*.cpp -lfmt -o cuda_dot_product
// Run:     cuda_dot_product [--count N] [--blocks N] [--threads N]

#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
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

/// The map alone: all products go to memory.
__global__ void store_products(int count, Product product, long long* products) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) products[i] = product(i);
}

/// Runs the work ten times, and prints how many bytes of x and y it handles per second in the fastest run.
template <typename Work>
void show(const char* what, int count, Work work) {
  const double seconds = fastest_alone(work);
  cookbook::println("{:<36}{:6.0f} GB/s", what, 2.0 * sizeof(int) * count / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 26, blocks = 0, threads = 256;
  cookbook::Options options("Multiply two vectors index by index and add up the products, on a GPU");
  options.add("count", count, "elements of each vector", 0, 1 << 28);
  options.add("blocks", blocks, "blocks of the grid; 0: as many as the device runs at once", 0, 65'535);
  options.add("threads", threads, "threads per block", 1, 1'024);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  if (blocks == 0) blocks = gpu::resident_blocks(map_and_reduce<long long, Product, Sum>, threads);

  std::vector<int> numbers(count);  // both vectors are 0, 1, 2 ... 99,999 and again
  for (int i = 0; i < count; ++i) numbers[i] = i % 100'000;
  const gpu::DeviceArray<int> x(numbers), y(numbers);
  const Product product{x.data(), y.data()};
  gpu::DeviceArray<long long> products(count), of_block(blocks), result(1);

  constexpr long long least = std::numeric_limits<long long>::min();
  long long expected = 0, expected_largest = least;  // the processor's results
  for (const long long number : numbers) {
    expected += number * number;
    expected_largest = std::max(expected_largest, number * number);
  }

  int wrong = 0;
  show("products stored, then added up", count, [&] {
    store_products<<<count / 256 + 1, 256>>>(count, product, products.data());
    CUDA_CHECK(cudaGetLastError());
    start_map_reduce(count, Element<long long>{products.data()}, Sum{}, 0LL, blocks, threads, of_block.data(),
                     result.data());
  });
  wrong += result.to_host().front() != expected;
  result.poison();
  const auto in_one_kernel = [&] {
    start_map_reduce(count, product, Sum{}, 0LL, blocks, threads, of_block.data(), result.data());
  };
  show("map and reduction in one kernel", count, in_one_kernel);
  wrong += result.to_host().front() != expected;
  long long by_thrust = 0;
  show("thrust::transform_reduce", count, [&] {
    const thrust::counting_iterator<int> first(0);
    by_thrust = thrust::transform_reduce(thrust::device, first, first + count, product, 0LL, Sum{});
  });
  wrong += by_thrust != expected;

  cookbook::Checks checks;
  checks.equal("ways with a wrong dot product", wrong, 0);
  checks.equal("the largest product", map_reduce(count, product, Maximum{}, least, blocks, threads), expected_largest);
  const int few = std::min(count, 400);
  checks.equal(fmt::format("the dot product of the first {}", few),
               map_reduce(few, product, Sum{}, 0LL, blocks, threads), few * (few - 1LL) * (2LL * few - 1) / 6);
  return checks.exit_code();
}
