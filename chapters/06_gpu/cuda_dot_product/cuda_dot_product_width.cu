// Pitfall: the elements have another width on the device
//
// The numbers are 64-bit integers on the host, and the kernel reads 32-bit integers. cudaMemcpy takes any pointers and
// copies bytes, so no call fails. The low half of a number is stored first, by the host and the device, so the kernel
// finds 0, 0, 1, 0, 2, 0 ... 199, 0 where 0, 1, 2 ... 399 should be.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_dot_product/cuda_dot_product_width.cu common/cookbook/*.cpp -lfmt -o cuda_dot_product_width
// Run:     cuda_dot_product_width
// Symptom: exit 1, prints "dot product: 2646700, expected 21253400"

#include <numeric>
#include <vector>

#include "cookbook/print.hpp"
#include "map_reduce.cuh"

struct Square {
  const int* x;
  __device__ long long operator()(int i) const { return static_cast<long long>(x[i]) * x[i]; }
};

struct Sum {
  __device__ long long operator()(long long a, long long b) const { return a + b; }
};

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  std::vector<long long> numbers(400);  // 64 bits each
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::size_t bytes = numbers.size() * sizeof(numbers[0]);

  int* x;  // wrong: 32 bits each
  CUDA_CHECK(cudaMalloc(&x, bytes));
  CUDA_CHECK(cudaMemcpy(x, numbers.data(), bytes, cudaMemcpyHostToDevice));
  const long long dot = map_reduce(400, Square{x}, Sum{}, 0LL, 1, 256);
  CUDA_CHECK(cudaFree(x));

  cookbook::println("dot product: {}, expected 21253400", dot);
  return dot == 21253400 ? 0 : 1;
}
