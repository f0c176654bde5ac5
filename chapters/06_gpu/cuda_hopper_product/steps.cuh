/// The steps, under the names by which program and bench know them.
#pragma once

#include "step1_one_tile.cuh"
#include "step2_ring.cuh"
#include "step3_persistent.cuh"
#include "tiled_tensor_product.cuh"

struct Step {
  const char* name;
  /// Queues c = a * b for n x n elements, row after row; n is a multiple of 256.
  void (*run)(const bfloat16* a, const bfloat16* b, float* c, int n, cudaStream_t stream);
};

const Step steps[] = {{"mma_sync, from cuda_tensor_cores", wmma_tiles::start_product},
                      {"1 wgmma, and tiles by the TMA", one_tile},
                      {"2 one warp copies, two groups multiply", ring<2>},
                      {"3 blocks that stay, tile after tile", persistent}};
