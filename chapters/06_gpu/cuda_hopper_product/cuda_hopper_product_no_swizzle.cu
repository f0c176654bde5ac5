// Pitfall: the copy engine and the tensor cores do not agree on where the numbers of a tile lie.
//
// Symptom: exit 1, prints "elements are wrong"
//
// The TMA leaves the pieces of 16 bytes where they are in their row, the tensor cores look for them in mixed order. No
// call fails, since nobody checks that.
//
// Compile: nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -Icommon chapters/06_gpu/cuda_hopper_product/cuda_hopper_product_no_swizzle.cu common/cookbook/*.cpp -lfmt -o cuda_hopper_product_no_swizzle

#include <cmath>
#include <vector>

#include "step1_one_tile.cuh"

int main() {
  if (!gpu::device_found() || !hopper_found()) return gpu::skipped;
  constexpr int n = 256;
  std::vector<bfloat16> a(n * n), b(n * n);  // whole numbers from -8 to 8, whose sums are exact
  for (int i = 0; i < n * n; ++i) a[i] = std::round(8 * gpu::random_number(1, i));
  for (int i = 0; i < n * n; ++i) b[i] = std::round(8 * gpu::random_number(2, i));
  const gpu::DeviceArray<bfloat16> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_c(n * n);
  device_c.poison();

  const CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;  // wrong: wgmma expects that of 128 bytes
  one_tile_product<<<dim3(n / tile_columns, n / group_rows), 128>>>(
      boxes_of(device_a.data(), n, group_rows, 1, swizzle),
      boxes_of(device_b.data(), n, depth, tile_columns / strip, swizzle), device_c.data(), n);
  CUDA_CHECK(cudaGetLastError());

  const std::vector<float> c = device_c.to_host();
  int wrong = 0;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += __bfloat162float(a[row * n + k]) * __bfloat162float(b[k * n + column]);
      wrong += !(c[row * n + column] == sum);
    }
  }
  cookbook::println("{} of {} elements are wrong", wrong, n * n);
  return wrong == 0 ? 0 : 1;
}
