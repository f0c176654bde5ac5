// Pitfall: one matrix for all pairs is read as if it were many
//
// Three matrices are multiplied by one. The kernel goes from one right matrix to the next, but there is only one. So
// the second and the third product are made of what lies behind it. Here threes lie behind it, in memory that belongs
// to the program. No call fails.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_generalised_product/cuda_generalised_product_one_matrix.cu common/cookbook/*.cpp -lfmt -o cuda_generalised_product_one_matrix
// Run:     cuda_generalised_product_one_matrix
// Symptom: exit 1, prints "1 of 3 products is right"

#include <algorithm>

#include "batch.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void multiply_pairs(const long long* a, const long long* b, long long* c) {
  const unsigned i = threadIdx.x, start = 4 * i;                      // where matrix i begins
  multiply({a + start, 2, 2}, {b + start, 2, 2}, {c + start, 2, 2});  // wrong: b + start, where there is only one b
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const gpu::DeviceArray<long long> a(std::vector<long long>(12, 1));
  std::vector<long long> memory(12, 3);
  std::fill_n(memory.begin(), 4, 1);  // the one right matrix; behind it lie threes
  const gpu::DeviceArray<long long> b(memory);
  gpu::DeviceArray<long long> c(12);

  multiply_pairs<<<1, 3>>>(a.data(), b.data(), c.data());
  CUDA_CHECK(cudaGetLastError());

  const std::vector<long long> products = c.to_host();
  const auto twos = std::count(products.begin(), products.end(), 2);
  cookbook::println("{} of 3 products is right", twos / 4);
  return twos == 12 ? 0 : 1;
}
