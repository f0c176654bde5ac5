// Pitfall: a missing barrier
//
// The kernel of step 2 without the second barrier: a warp that has finished its tile overwrites it while another warp
// still reads. Here warp 0 sleeps in every turn, so that the others overtake it and the product is wrong. Without the
// sleep it may be right in every test. NVIDIA's compute-sanitizer --tool racecheck finds the mistake in any run.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_tiled_product/cuda_tiled_product_race.cu common/cookbook/*.cpp -lfmt -o cuda_tiled_product_race
// Run:     cuda_tiled_product_race
// Symptom: exit 1, prints "elements are wrong"

#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

constexpr int side = 32, n = 256;

__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float a_tile[side][side], b_tile[side][side];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * side + x, row = blockIdx.y * side + y;
  float sum = 0;
  for (int k = 0; k < n; k += side) {
    a_tile[y][x] = a[row * n + k + x];
    b_tile[y][x] = b[(k + y) * n + column];
    __syncthreads();
    if (y == 0) __nanosleep(20'000);  // warp 0 falls behind by about 20 microseconds
    for (int j = 0; j < side; ++j) sum += a_tile[y][j] * b_tile[j][x];
    // Missing: __syncthreads();
  }
  c[row * n + column] = sum;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  std::vector<float> a(n * n, 1), b(n * n);
  for (int i = 0; i < n * n; ++i) b[i] = static_cast<float>(i / n);  // row k of B holds k
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_c(n * n);
  product<<<dim3(n / side, n / side), dim3(side, side)>>>(device_a.data(), device_b.data(), device_c.data());
  CUDA_CHECK(cudaGetLastError());

  int wrong = 0;
  for (const float sum : device_c.to_host()) wrong += sum != n * (n - 1) / 2;  // 0 + 1 + ... + 255
  if (wrong > 0) {
    cookbook::println("{} of {} elements are wrong", wrong, n * n);
    return 1;
  }
  cookbook::println("all {} elements are right", n * n);
}
