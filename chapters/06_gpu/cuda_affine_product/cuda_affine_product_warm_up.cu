// Pitfall: a warm-up run of a kernel that works in place
//
// Before a kernel is timed one runs it once, so that loading it is not measured. But a kernel that works in place
// changes its input. After the warm-up the timed run starts from the changed array, and the formula is applied twice.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_affine_product/cuda_affine_product_warm_up.cu common/cookbook/*.cpp -lfmt -o cuda_affine_product_warm_up
// Run:     cuda_affine_product_warm_up
// Symptom: exit 1, prints "the result is 1875250, expected 1500"

#include <vector>

#include "affine_product.cuh"
#include "cookbook/cuda.hpp"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<float> a(std::vector<float>(1000, 1));
  const gpu::DeviceArray<float> b(std::vector<float>(1000, 1));

  gpu::EventTimer timer;
  timer.start();
  start_change(a.data(), b.data(), 1000);  // wrong: the warm-up changes a
  cookbook::println("the warm-up took {:.3f} ms", timer.stop() * 1e3);

  timer.start();
  start_change(a.data(), b.data(), 1000);
  cookbook::println("the kernel took {:.3f} ms", timer.stop() * 1e3);

  const float result = a.to_host()[0];
  cookbook::println("the result is {}, expected {}", result, affine_product(1, 1));
  return result == affine_product(1, 1) ? 0 : 1;
}
