/// Two ways to transpose a matrix: element (row, column) of `in` becomes element (column, row) of `out`.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

struct Shape {
  int rows, columns;  ///< of the matrix `in`, whose rows lie one after another
};

constexpr int side = 32;  ///< of the square tile that a block moves with side x side threads

/// Constant memory: all threads read it, only the host writes it, with cudaMemcpyToSymbol().
__constant__ Shape shape;

/// Global memory and registers alone. A warp reads 32 neighbours, and writes each into another row.
__global__ void transpose_direct(const float* in, float* out) {
  const int row = blockIdx.y * side + threadIdx.y, column = blockIdx.x * side + threadIdx.x;
  if (row < shape.rows && column < shape.columns) {
    const float value = in[std::size_t(row) * shape.columns + column];  // in a register: no other thread sees it
    out[std::size_t(column) * shape.rows + row] = value;
  }
}

/// Through a tile in shared memory, which all threads of a block see. A warp reads 32 neighbours and writes 32
/// neighbours. The tile goes to the mirrored place, where a thread writes an element that another one has loaded.
/// Rows of 33 floats put the 32 floats of a column into 32 different banks; rows of 32 would put them all into one.
template <int row_length = side + 1>
__global__ void transpose_tiled(const float* in, float* out) {
  __shared__ float tile[side][row_length];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * side + y, column = blockIdx.x * side + x;
  if (row < shape.rows && column < shape.columns) tile[y][x] = in[std::size_t(row) * shape.columns + column];
  __syncthreads();  // the tile is complete
  const int out_row = blockIdx.x * side + y, out_column = blockIdx.y * side + x;
  if (out_row < shape.columns && out_column < shape.rows) {
    out[std::size_t(out_row) * shape.rows + out_column] = tile[x][y];
  }
}

/// Blocks of side x side threads for a whole matrix.
inline dim3 blocks_for(const Shape& matrix_shape) {
  return dim3((matrix_shape.columns + side - 1) / side, (matrix_shape.rows + side - 1) / side);
}
