// Pitfall: the whole matrix in one block
//
// The kernel takes its row and column from threadIdx alone, so the matrix must fit into one block. A block has at most
// 1024 threads; 33 x 33 are 1089. The launch is refused, but a launch returns nothing, and this program does not ask
// cudaGetLastError(). The copy that follows succeeds, and brings the NaNs that were in the memory before.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_matrix_product/cuda_matrix_product_one_block.cu common/cookbook/*.cpp -lfmt -o cuda_matrix_product_one_block
// Run:     cuda_matrix_product_one_block
// Symptom: exit 1, prints "1089 of 1089 elements were not computed"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void product(const float* a, const float* b, float* c, int width) {
  const int row = threadIdx.y, column = threadIdx.x;  // wrong: without blockIdx there is one block only
  float sum = 0;
  for (int k = 0; k < width; ++k) sum += a[row * width + k] * b[k * width + column];
  c[row * width + column] = sum;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int width = 33;
  const gpu::DeviceArray<float> ones(std::vector<float>(width * width, 1));
  gpu::DeviceArray<float> c(width * width);
  c.poison();  // every element is a NaN

  product<<<1, dim3(width, width)>>>(ones.data(), ones.data(), c.data(), width);
  // Missing: CUDA_CHECK(cudaGetLastError());

  const std::vector<float> result = c.to_host();
  const auto missing = std::count_if(result.begin(), result.end(), [](float x) { return std::isnan(x); });
  cookbook::println("{} of {} elements were not computed", missing, result.size());
  return missing == 0 ? 0 : 1;
}
