// Pitfall: a block does not wait between filling its tile and reading it.
//
// A thread stores an element that another thread has loaded. Without a barrier that other thread may not have loaded it
// yet.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_transpose/cuda_transpose_no_wait.cu common/cookbook/*.cpp -lfmt -o cuda_transpose_no_wait
// Run:     cuda_transpose_no_wait
// Symptom: exit 1, prints "elements are wrong"

#include <numeric>
#include <vector>

#include "cookbook/cuda.hpp"

namespace {

constexpr int side = 1024, tile_side = 32;

__global__ void transpose(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[tile_side][tile_side + 1];
  const int x = threadIdx.x, y = threadIdx.y, from_row = blockIdx.y * tile_side, from_column = blockIdx.x * tile_side;
  tile[y][x] = in[(from_row + y) * side + from_column + x];
  // wrong: no __syncthreads() here
  out[(from_column + y) * side + from_row + x] = tile[x][y];
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  std::vector<unsigned> matrix(side * side);
  std::iota(matrix.begin(), matrix.end(), 0U);
  const gpu::DeviceArray<unsigned> in(matrix);
  gpu::DeviceArray<unsigned> out(matrix.size());
  out.poison();
  transpose<<<dim3(side / tile_side, side / tile_side), dim3(tile_side, tile_side)>>>(in.data(), out.data());
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned> result = out.to_host();
  int wrong = 0;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) wrong += result[column * side + row] != matrix[row * side + column];
  }
  cookbook::println("{} of {} elements are wrong", wrong, side * side);
  return wrong == 0 ? 0 : 1;
}
