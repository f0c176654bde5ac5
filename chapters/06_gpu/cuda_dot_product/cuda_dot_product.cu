// Dot product: map and reduce
//
// A map makes one value per index, here x[i] * y[i]. A reduction combines two values into one, here a + b, until one is
// left. The program does both steps one after the other, as (x * y).sum() of NumPy does: it stores all products and
// then adds them up. And it does both at once, in a kernel that stores no product. Beside that stands Thrust, NVIDIA's
// library for such patterns. For each it prints the bytes loaded and stored per pair of elements, the time, and the
// rate that follows. The rates differ less than the bytes. All numbers are integers, so the results are exact.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_dot_product/cuda_dot_product.cu common/cookbook/*.cpp -lfmt -o cuda_dot_product
// Run:     cuda_dot_product [--count N] [--blocks N] [--threads N]

#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>

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

/// The map alone: all products go to memory.
__global__ void store(int count, Product product, long long* products) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) products[i] = product(i);
}

/// The two vectors, and memory for what is made of them, all on the device.
struct Job {
  int blocks, threads;
  gpu::DeviceArray<int> x, y;
  gpu::DeviceArray<long long> products{x.size()}, of_block{static_cast<std::size_t>(blocks)}, result{1};

  int count() const { return static_cast<int>(x.size()); }
  Product product() const { return {x.data(), y.data()}; }

  void store_products() {
    store<<<count() / 256 + 1, 256>>>(count(), product(), products.data());
    CUDA_CHECK(cudaGetLastError());
  }

  void add_up_products() {
    const Element<long long> stored{products.data()};
    start_map_reduce(count(), stored, Sum{}, 0LL, blocks, threads, of_block.data(), result.data());
  }

  void multiply_and_add_up() {
    start_map_reduce(count(), product(), Sum{}, 0LL, blocks, threads, of_block.data(), result.data());
  }
};

/// Runs the work ten times, and prints the shortest time, and how many bytes per second are loaded and stored in it.
template <typename Work>
void show(const char* what, int bytes_per_pair, int count, Work work) {
  const double seconds = fastest_alone(work);
  cookbook::println("{:<40}{:>15}{:9.1f} us{:6.0f} GB/s", what, bytes_per_pair, seconds * 1e6,
                    static_cast<double>(bytes_per_pair) * count / seconds * 1e-9);
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
  long long expected = 0;  // the processor's result
  for (const long long number : numbers) expected += number * number;

  Job job{blocks, threads, gpu::DeviceArray<int>(numbers), gpu::DeviceArray<int>(numbers)};
  int right = 0;
  const auto look = [&] {
    right += job.result.to_host().front() == expected;
    job.result.poison();
  };
  constexpr int of_elements = 2 * sizeof(int), of_product = sizeof(long long);
  cookbook::println("{:<40}{:>15}{:>12}{:>11}", fmt::format("{} pairs of elements", count), "bytes per pair", "time",
                    "rate");
  show("store the products", of_elements + of_product, count, [&] { job.store_products(); });
  show("add up the stored products", of_product, count, [&] { job.add_up_products(); });
  look();
  job.products.poison();
  show("both, one after the other", of_elements + 2 * of_product, count, [&] {
    job.store_products();
    job.add_up_products();
  });
  look();
  show("multiply and add up at once", of_elements, count, [&] { job.multiply_and_add_up(); });
  look();
  long long by_thrust = 0;
  show("the same by thrust::transform_reduce", of_elements, count, [&] {
    const thrust::counting_iterator<int> first(0);
    by_thrust = thrust::transform_reduce(thrust::device, first, first + count, job.product(), 0LL, Sum{});
  });
  right += by_thrust == expected;

  cookbook::Checks checks;
  checks.equal("ways with the right dot product", right, 4);
  return checks.exit_code();
}
