// Transpose
//
// Transposes a matrix on the GPU in four ways. All of them load each element once and store it once, in the device's
// global memory; they differ in which addresses neighbouring threads touch at the same time, and in how many loads a
// thread has under way. The program prints how many bytes per second each moves, beside kernels that only copy, and
// checks every element.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_transpose/cuda_transpose.cu common/cookbook/*.cpp -lfmt -o cuda_transpose
// Run:     cuda_transpose [--side N]

#include <algorithm>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"

namespace {

using Element = unsigned;
constexpr int tile_side = 32;  // a block moves tile_side x tile_side elements; the matrix's side is a multiple of it

/// For comparison: out is in, so both are touched in the order in which they lie in memory.
__global__ void copy(const Element* in, Element* out, int side) {
  const int row = blockIdx.y * tile_side + threadIdx.y;
  const int column = blockIdx.x * tile_side + threadIdx.x;
  out[std::size_t(row) * side + column] = in[std::size_t(row) * side + column];
}

/// Each thread moves one element. The 32 threads of a warp have the same row and neighbouring columns: they load 32
/// neighbours, and store into 32 different rows.
__global__ void transpose_directly(const Element* in, Element* out, int side) {
  const int row = blockIdx.y * tile_side + threadIdx.y;
  const int column = blockIdx.x * tile_side + threadIdx.x;
  out[std::size_t(column) * side + row] = in[std::size_t(row) * side + column];
}

/// A block brings a tile into its shared memory, row by row, and takes it out column by column. So a warp stores 32
/// neighbours, too. `row_length` is the length of a row of the tile in shared memory, at least tile_side.
template <int row_length>
__global__ void transpose_through_tiles(const Element* in, Element* out, int side) {
  __shared__ Element tile[tile_side][row_length];
  const int x = threadIdx.x, y = threadIdx.y, from_row = blockIdx.y * tile_side, from_column = blockIdx.x * tile_side;
  tile[y][x] = in[std::size_t(from_row + y) * side + from_column + x];
  __syncthreads();  // a thread stores an element that another one has loaded
  out[std::size_t(from_column + y) * side + from_row + x] = tile[x][y];
}

/// The same with a quarter of the threads, 32 x 8: each moves four elements, and has four loads under way.
__global__ void transpose_four_each(const Element* in, Element* out, int side) {
  __shared__ Element tile[tile_side][tile_side + 1];
  const int x = threadIdx.x, y = threadIdx.y, from_row = blockIdx.y * tile_side, from_column = blockIdx.x * tile_side;
  for (int i = 0; i < 32; i += 8) tile[y + i][x] = in[std::size_t(from_row + y + i) * side + from_column + x];
  __syncthreads();
  for (int i = 0; i < 32; i += 8) out[std::size_t(from_column + y + i) * side + from_row + x] = tile[x][y + i];
}

__global__ void copy_four_each(const Element* in, Element* out, int side) {
  const int row = blockIdx.y * tile_side + threadIdx.y, column = blockIdx.x * tile_side + threadIdx.x;
  Element four[4];
  for (int i = 0; i < 4; ++i) four[i] = in[std::size_t(row + 8 * i) * side + column];
  for (int i = 0; i < 4; ++i) out[std::size_t(row + 8 * i) * side + column] = four[i];
}

using Kernel = void (*)(const Element*, Element*, int);

/// Runs the kernel ten times, prints what it moves per second in its fastest run, and returns its result.
std::vector<Element> run(const char* what, Kernel kernel, const gpu::DeviceArray<Element>& in, int side,
                         dim3 threads = {tile_side, tile_side}) {
  const dim3 blocks(side / tile_side, side / tile_side);
  gpu::DeviceArray<Element> out(in.size());
  out.poison();
  gpu::EventTimer timer;
  double seconds = 1e9;
  for (int i = 0; i < 10; ++i) {
    timer.start();
    kernel<<<blocks, threads>>>(in.data(), out.data(), side);
    CUDA_CHECK(cudaGetLastError());
    seconds = std::min(seconds, timer.stop());
  }
  cookbook::println("{:<38}{:6.0f} GB/s", what, 2 * in.size() * sizeof(Element) / seconds * 1e-9);
  return out.to_host();
}

}  // namespace

int main(int argc, char** argv) {
  int side = 4096;
  cookbook::Options options("Transpose a matrix on a GPU");
  options.add("side", side, "rows and columns of the matrix; rounded up to a multiple of 32", 1, 32'768);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  side = (side + tile_side - 1) / tile_side * tile_side;

  std::vector<Element> matrix(std::size_t(side) * side), transposed(matrix.size());
  std::iota(matrix.begin(), matrix.end(), 0U);  // every element is different
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      transposed[std::size_t(column) * side + row] = matrix[std::size_t(row) * side + column];
    }
  }

  const gpu::DeviceArray<Element> in(matrix);
  int wrong = 0;
  wrong += run("copy, one element per thread", copy, in, side) != matrix;
  wrong += run("transposed directly", transpose_directly, in, side) != transposed;
  wrong += run("through tiles with rows of 32", transpose_through_tiles<32>, in, side) != transposed;
  wrong += run("through tiles with rows of 33", transpose_through_tiles<33>, in, side) != transposed;
  wrong += run("the same, four elements per thread", transpose_four_each, in, side, {tile_side, 8}) != transposed;
  wrong += run("copy, four elements per thread", copy_four_each, in, side, {tile_side, 8}) != matrix;

  cookbook::Checks checks;
  checks.equal("kernels with a wrong element", wrong, 0);
  return checks.exit_code();
}
