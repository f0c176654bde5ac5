// Tiled matrix product with a barrier too few
//
// The kernel of step 2 without the barrier that ends the work on a tile: a warp that is done with its tile overwrites
// it while another still reads. Warp 0 is held up here in every turn, so that the others overtake it and the product is
// wrong each time; without that it may come out right for years. compute-sanitizer --tool racecheck finds the missing
// barrier by who reads and writes what, also in runs whose product is right.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_tiled_product/cuda_tiled_product_race.cu common/cookbook/*.cpp -lfmt -o cuda_tiled_product_race
// Run:     cuda_tiled_product_race
// Symptom: exit 1, prints "elements are wrong"

#include <algorithm>
#include <vector>

#include "cuda_check.hpp"
#include "matrix.cuh"

namespace {

constexpr int side = 32;

__global__ void racing_product(const float* a, const float* b, float* c, int n, int stride) {
  __shared__ float a_tile[side][side], b_tile[side][side];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * side + x, row = blockIdx.y * side + y;
  float sum = 0;
  for (int k = 0; k < n; k += side) {
    a_tile[y][x] = a[std::size_t(row) * stride + k + x];
    b_tile[y][x] = b[std::size_t(k + y) * stride + column];
    __syncthreads();
    if (y == 0) __nanosleep(20'000);  // warp 0 falls behind by 20 microseconds
    for (int j = 0; j < side; ++j) sum += a_tile[y][j] * b_tile[j][x];
    // Here a barrier is missing.
  }
  c[std::size_t(row) * stride + column] = sum;
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  // Row r of the first matrix is r + 1 throughout, the second holds 1 in the first 128 rows and 2 in the others.
  constexpr int n = 256;
  std::vector<float> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i / n + 1);
    b[i] = i / n < n / 2 ? 1 : 2;
  }
  const Matrix device_a(n, a), device_b(n, b);
  Matrix device_c(n);
  racing_product<<<dim3(n / side, n / side), dim3(side, side)>>>(device_a.data(), device_b.data(), device_c.data(), n,
                                                                 n);
  CUDA_CHECK(cudaGetLastError());

  const std::vector<float> c = device_c.to_host();
  int wrong = 0;
  for (int i = 0; i < n * n; ++i) wrong += c[i] != static_cast<float>((i / n + 1) * (n / 2 + n));
  cookbook::println("{} of {} elements are wrong", wrong, n * n);
  return wrong == 0 ? 0 : 1;
}
