// Pitfall: sums of 16 bits
//
// A tensor core can also keep its sums in half precision, with 11 binary digits. Here a row of A begins with 2048, and
// 4095 numbers of 1/32 follow; B is full of ones. The next number of type half is 2050. Each step of 16 terms adds 0.5,
// which is rounded away. No call fails.
//
// Compile: nvcc -std=c++20 -O3 -arch=sm_80 -Icommon chapters/06_gpu/cuda_tensor_cores/cuda_tensor_cores_half_sums.cu common/cookbook/*.cpp -lfmt -o cuda_tensor_cores_half_sums
// Run:     cuda_tensor_cores_half_sums
// Symptom: exit 1, prints "the sum is 2048, expected 2175.97"

#include <cuda_fp16.h>
#include <mma.h>

#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

constexpr int side = 16, length = 4096;

__global__ void product(const __half* a, const __half* b, __half* c) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, side, side, side, __half, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, side, side, side, __half, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, side, side, side, __half> sums;  // wrong: float
  wmma::fill_fragment(sums, __half(0));
  for (int k = 0; k < length; k += side) {
    wmma::load_matrix_sync(a_tile, a + k, length);
    wmma::load_matrix_sync(b_tile, b + k * side, side);
    wmma::mma_sync(sums, a_tile, b_tile, sums);
  }
  wmma::store_matrix_sync(c, sums, side, wmma::mem_row_major);
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  std::vector<__half> a(side * length, __half(1.0F / 32)), b(length * side, __half(1.0F));
  for (int row = 0; row < side; ++row) a[row * length] = __half(2048.0F);
  const gpu::DeviceArray<__half> device_a(a), device_b(b);
  gpu::DeviceArray<__half> device_c(side * side);
  product<<<1, 32>>>(device_a.data(), device_b.data(), device_c.data());
  CUDA_CHECK(cudaGetLastError());

  const float sum = __half2float(device_c.to_host()[0]), expected = 2048 + (length - 1) / 32.0F;
  cookbook::println("the sum is {:.6g}, expected {:.6g}", sum, expected);
  return sum == expected ? 0 : 1;
}
