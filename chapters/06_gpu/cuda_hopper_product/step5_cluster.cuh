/// Step 5: two blocks on neighbouring multiprocessors are a cluster. They compute tiles one above the other, which need
/// the same tile of B. Each fetches half of it, and the TMA writes that half into the shared memory of both.
#pragma once

#include <cooperative_groups.h>

#include "step4_persistent.cuh"

constexpr int cluster_size = 2, cluster_rows = cluster_size * block_rows;

__global__ void __launch_bounds__(block_threads, 1)
    cluster_product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int n) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = *reinterpret_cast<Ring<block_rows>*>(memory);
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank()), group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int rows = n / cluster_rows, columns = n / tile_columns, clusters = gridDim.x / cluster_size;
  prepare(ring, cluster_size * 8);  // a stage is empty when the warps of both blocks have finished with it
  cluster.sync();

  int step = 0;
  if (group == 2) {
    if (lane == 0) {
      for (int tile = blockIdx.x / cluster_size; tile < rows * columns; tile += clusters) {
        const auto [row, column] = place_of(tile, rows, columns);
        for (int k = 0; k < n; k += depth, ++step) {
          const int i = step % stages, round = step / stages;
          auto& [a_tile, b_tile] = ring.stage[i];
          wait(ring.empty[i], (round + 1) % 2);
          ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &ring.full[i],
                                         sizeof(ring.stage[i]));
          start_copy(a_tile, a, row * cluster_rows + rank * block_rows, k, ring.full[i]);
          // To the same place in both blocks, and its bytes arrive at the barriers of both: bits 0 and 1 of the mask.
          const int half = rank * tile_columns / strip / cluster_size;
          ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, b_tile[half], &b,
                                    {0, k, column * (tile_columns / strip) + half}, &ring.full[i], 0b11);
        }
      }
    }
  } else {
    Sums sums;
    for (int tile = blockIdx.x / cluster_size; tile < rows * columns; tile += clusters) {
      for (int k = 0; k < n; k += depth, ++step) {
        const int i = step % stages, round = step / stages;
        wait(ring.full[i], round % 2);
        start_products(sums, ring.stage[i].a + group * group_rows, ring.stage[i].b, k == 0);
        wait_for_products();
        if (lane < cluster_size) {  // lane 0 tells block 0, lane 1 tells block 1
          ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                               cluster.map_shared_rank(&ring.empty[i], lane));
        }
      }
      const auto [row, column] = place_of(tile, rows, columns);
      const int first_row = row * cluster_rows + rank * block_rows + group * group_rows;
      store(sums, c + std::size_t(first_row) * n + column * tile_columns, n);
    }
  }
  cluster.sync();  // no block ends while the other still writes into its shared memory
}

inline void cluster(const bfloat16* a, const bfloat16* b, float* c, int n, cudaStream_t stream) {
  constexpr int bytes = sizeof(Ring<block_rows>);
  CUDA_CHECK(cudaFuncSetAttribute(cluster_product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster_size, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = cluster_size;
  config.blockDim = block_threads;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int resident = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveClusters(&resident, cluster_product, &config));
  config.gridDim = cluster_size * std::min(resident, n / cluster_rows * (n / tile_columns));
  CUDA_CHECK(cudaLaunchKernelEx(&config, cluster_product, boxes_of(a, n, block_rows, 1),
                                boxes_of(b, n, depth, tile_columns / strip / cluster_size), c, n));
}
