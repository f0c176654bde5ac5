/// A matrix product on the tensor cores: one warp per tile of 16 x 16 elements, and one per several tiles.
#pragma once

#include <cuda_bf16.h>
#include <mma.h>

#include <cstddef>

using bfloat16 = __nv_bfloat16;

constexpr int side = 16;  ///< of a tile

/// C = A B for n x n elements, row after row; n is a multiple of 16. A block is one warp, and the grid has n / 16 x
/// n / 16 blocks. The numbers of A and B have 16 bits, the sums are floats.
__global__ void tensor_product(const bfloat16* a, const bfloat16* b, float* c, int n) {
  namespace wmma = nvcuda::wmma;
  const std::size_t row = side * blockIdx.y, column = side * blockIdx.x;
  wmma::fragment<wmma::matrix_a, side, side, side, bfloat16, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, side, side, side, bfloat16, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, side, side, side, float> sums;
  wmma::fill_fragment(sums, 0.0F);
  for (int k = 0; k < n; k += side) {
    wmma::load_matrix_sync(a_tile, a + row * n + k, n);
    wmma::load_matrix_sync(b_tile, b + std::size_t(k) * n + column, n);
    wmma::mma_sync(sums, a_tile, b_tile, sums);  // sums = a_tile * b_tile + sums: 4096 multiplications
  }
  wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}

/// The same with `tiles` x `tiles` tiles of C per warp: each tile that is loaded is used `tiles` times. n is a multiple
/// of 16 * tiles, and the grid has n / (16 * tiles) blocks in both directions.
template <int tiles>
__global__ void product_of_many_tiles(const bfloat16* a, const bfloat16* b, float* c, int n) {
  namespace wmma = nvcuda::wmma;
  const std::size_t row = side * tiles * blockIdx.y, column = side * tiles * blockIdx.x;
  wmma::fragment<wmma::matrix_a, side, side, side, bfloat16, wmma::row_major> a_tiles[tiles];
  wmma::fragment<wmma::matrix_b, side, side, side, bfloat16, wmma::row_major> b_tiles[tiles];
  wmma::fragment<wmma::accumulator, side, side, side, float> sums[tiles][tiles];
  for (int i = 0; i < tiles * tiles; ++i) wmma::fill_fragment(sums[i / tiles][i % tiles], 0.0F);
  for (int k = 0; k < n; k += side) {
    for (int i = 0; i < tiles; ++i) wmma::load_matrix_sync(a_tiles[i], a + (row + side * i) * n + k, n);
    for (int j = 0; j < tiles; ++j) wmma::load_matrix_sync(b_tiles[j], b + std::size_t(k) * n + column + side * j, n);
    for (int i = 0; i < tiles; ++i) {
      for (int j = 0; j < tiles; ++j) wmma::mma_sync(sums[i][j], a_tiles[i], b_tiles[j], sums[i][j]);
    }
  }
  for (int i = 0; i < tiles; ++i) {
    for (int j = 0; j < tiles; ++j) {
      wmma::store_matrix_sync(c + (row + side * i) * n + column + side * j, sums[i][j], n, wmma::mem_row_major);
    }
  }
}
