// Pitfall: row by row is taken for column by column
//
// The matrices are stored row by row, and are given to cuBLAS in the order in which one writes the product, A and then
// B. cuBLAS reads each of them column by column, which is its transpose. Read row by row, the result is B * A. No call
// fails, because all matrices are square.
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_blas/cuda_blas_row_major.cpp common/cookbook/*.cpp -lcublas -lfmt -o cuda_blas_row_major
// Run:     cuda_blas_row_major
// Symptom: exit 1, prints "the result is B * A"

#include "gemm.hpp"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const Matrix a{2, 2, {1, 2, 3, 4}}, b{2, 2, {0, 1, 1, 0}};  // A * B exchanges the columns of A, B * A its rows
  const gpu::DeviceArray<double> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<double> device_c(4);
  const double one = 1, zero = 0;

  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUBLAS_CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device_a.data(), 2, device_b.data(), 2,
                           &zero, device_c.data(), 2));  // wrong: A comes first
  const std::vector<double> c = device_c.to_host();
  CUBLAS_CHECK(cublasDestroy(handle));

  cookbook::println("A = 1 2 / 3 4, B = 0 1 / 1 0");
  cookbook::println("result = {} {} / {} {}", c[0], c[1], c[2], c[3]);
  Matrix a_times_b{2, 2, std::vector<double>(4)}, b_times_a = a_times_b;
  multiply_on_host(1, a, b, 0, a_times_b);
  multiply_on_host(1, b, a, 0, b_times_a);
  if (c == b_times_a.values) cookbook::println("the result is B * A");
  return c == a_times_b.values ? 0 : 1;
}
