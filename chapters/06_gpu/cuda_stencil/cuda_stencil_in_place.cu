// Pitfall: a step overwrites the values that other points still need.
//
// The kernel stores where it loads from. When a thread loads its neighbours, some of them have already taken the step,
// and others have not: that depends on which warps have run before.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_stencil/cuda_stencil_in_place.cu common/cookbook/*.cpp -lfmt -o cuda_stencil_in_place
// Run:     cuda_stencil_in_place
// Symptom: exit 1, prints "points are wrong"

#include <algorithm>
#include <vector>

#include "cookbook/cuda.hpp"
#include "heat.cuh"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int side = 2048, steps = 4;
  const std::vector<float> before = gpu::random_numbers(1, side * side);
  gpu::DeviceArray<float> grid(before);
  const dim3 threads(32, 8), blocks(side / 32, side / 8);

  for (int step = 0; step < steps; ++step) {
    step_directly<<<blocks, threads>>>(grid.data(), grid.data(), side);  // wrong: one array for in and out
    CUDA_CHECK(cudaGetLastError());
  }

  const std::vector<float> after = grid.to_host(), expected = after_steps(before, side, steps);
  int wrong = 0;
  for (std::size_t i = 0; i < after.size(); ++i) wrong += after[i] != expected[i];
  cookbook::println("{} of {} points are wrong", wrong, after.size());
  return wrong == 0 ? 0 : 1;
}
