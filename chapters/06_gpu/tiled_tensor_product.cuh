/// The product on the tensor cores by wmma for large matrices: tiles in shared memory, copied while the warps compute.
/// For cuda_tensor_cores, and as the first row of cuda_hopper_product.
#pragma once

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstddef>

#include "cookbook/cuda.hpp"

namespace wmma_tiles {

using bfloat16 = __nv_bfloat16;

constexpr int side = 16;                            ///< of a tile of wmma
constexpr int tile_rows = 128, tile_columns = 128;  ///< of C, per block
constexpr int tile_depth = 64;                      ///< columns of A, and rows of B, in shared memory at a time
constexpr int stages = 3;                           ///< tiles in shared memory: one in use, two on their way
constexpr int tile_threads = 128;                   ///< 2 x 2 warps, each computes 64 x 64 elements
constexpr int warp_tiles = 64 / side;               ///< rows, and columns, of tiles of sums per warp

/// A tile of A and one of B. Rows are longer by 16 bytes than their numbers, so that the eight rows that a warp reads
/// at a time lie in different banks.
struct Stage {
  bfloat16 a[tile_rows][tile_depth + 8];
  bfloat16 b[tile_depth][tile_columns + 8];
};

using ATile = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, side, side, side, bfloat16, nvcuda::wmma::row_major>;
using BTile = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, side, side, side, bfloat16, nvcuda::wmma::row_major>;

/// load_matrix_sync() from shared memory. That function does not know in which memory the tile is, and nvcc 13.0 makes
/// four loads of it (LD.E in the output of cuobjdump -sass); of this one, which says so, it makes one (LDSM).
__device__ inline void load_from_shared(ATile& tile, const bfloat16* from, int row_length) {
  unsigned* const own = reinterpret_cast<unsigned*>(tile.x);
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(own[0]), "=r"(own[1]), "=r"(own[2]), "=r"(own[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "r"(row_length)
               : "memory");
}

__device__ inline void load_from_shared(BTile& tile, const bfloat16* from, int row_length) {
  unsigned* const own = reinterpret_cast<unsigned*>(tile.x);
  asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(own[0]), "=r"(own[1]), "=r"(own[2]), "=r"(own[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "r"(row_length)
               : "memory");
}

/// The 2 asks the compiler for so few registers that two blocks fit on a multiprocessor.
__global__ void __launch_bounds__(tile_threads, 2) product(const bfloat16* a, const bfloat16* b, float* c, int n) {
  namespace wmma = nvcuda::wmma;
  extern __shared__ __align__(128) unsigned char shared[];
  Stage* const in_shared = reinterpret_cast<Stage*>(shared);
  const int thread = threadIdx.x, warp_row = thread / 32 / 2 * 64, warp_column = thread / 32 % 2 * 64;
  a += std::size_t(blockIdx.y) * tile_rows * n;
  b += std::size_t(blockIdx.x) * tile_columns;

  const int tiles = n / tile_depth;
  const auto fetch = [&](int tile) {
    if (tile < tiles) {
      Stage& stage = in_shared[tile % stages];
#pragma unroll
      for (int i = 0; i < tile_rows * tile_depth; i += 8 * tile_threads) {  // eight numbers are 16 bytes
        const int row = (i + 8 * thread) / tile_depth, column = (i + 8 * thread) % tile_depth;
        __pipeline_memcpy_async(&stage.a[row][column], a + std::size_t(row) * n + tile * tile_depth + column, 16);
      }
#pragma unroll
      for (int i = 0; i < tile_depth * tile_columns; i += 8 * tile_threads) {
        const int row = (i + 8 * thread) / tile_columns, column = (i + 8 * thread) % tile_columns;
        __pipeline_memcpy_async(&stage.b[row][column], b + std::size_t(tile * tile_depth + row) * n + column, 16);
      }
    }
    __pipeline_commit();  // also when there was nothing to fetch, so that the count below is right
  };

  wmma::fragment<wmma::accumulator, side, side, side, float> sums[warp_tiles][warp_tiles];
#pragma unroll
  for (int i = 0; i < warp_tiles * warp_tiles; ++i) wmma::fill_fragment(sums[i / warp_tiles][i % warp_tiles], 0.0F);

  for (int tile = 0; tile < stages - 1; ++tile) fetch(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(stages - 2);  // this thread's share of the tile has arrived
    __syncthreads();                    // that of all others too, and all have finished the tile before
    fetch(tile + stages - 1);           // into the stage of the tile before
    const Stage& stage = in_shared[tile % stages];
#pragma unroll
    for (int k = 0; k < tile_depth; k += side) {
      ATile a_tiles[warp_tiles];
      BTile b_tiles[warp_tiles];
#pragma unroll
      for (int i = 0; i < warp_tiles; ++i) {
        load_from_shared(a_tiles[i], &stage.a[warp_row + side * i][k], tile_depth + 8);
        load_from_shared(b_tiles[i], &stage.b[k][warp_column + side * i], tile_columns + 8);
      }
#pragma unroll
      for (int i = 0; i < warp_tiles; ++i) {
#pragma unroll
        for (int j = 0; j < warp_tiles; ++j) wmma::mma_sync(sums[i][j], a_tiles[i], b_tiles[j], sums[i][j]);
      }
    }
  }

  c += std::size_t(blockIdx.y * tile_rows + warp_row) * n + blockIdx.x * tile_columns + warp_column;
#pragma unroll
  for (int i = 0; i < warp_tiles; ++i) {
#pragma unroll
    for (int j = 0; j < warp_tiles; ++j) {
      wmma::store_matrix_sync(c + std::size_t(side * i) * n + side * j, sums[i][j], n, wmma::mem_row_major);
    }
  }
}

constexpr int shared_bytes = stages * sizeof(Stage);  ///< shared memory of a block: 105 KiB

/// Whether a block of the device can have that much shared memory. Those of compute capability 8.6, 8.9 and 12.0
/// cannot.
inline bool fits() {
  int device = 0, most = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return shared_bytes <= most;
}

/// Queues c = a * b; n is a multiple of 128.
inline void start_product(const bfloat16* a, const bfloat16* b, float* c, int n, cudaStream_t stream = nullptr) {
  // More than 48 KiB have to be asked for.
  CUDA_CHECK(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  product<<<dim3(n / tile_columns, n / tile_rows), tile_threads, shared_bytes, stream>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace wmma_tiles
