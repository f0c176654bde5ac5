/// The five steps, under the names by which program and bench know them.
#pragma once

#include "step1_naive.cuh"
#include "step2_shared_tile.cuh"
#include "step3_register_block.cuh"
#include "step4_vector_loads.cuh"
#include "step5_async_copy.cuh"

struct Step {
  const char* name;
  void (*run)(const Matrix& a, const Matrix& b, Matrix& c);  ///< queues c = a * b on the default stream
  double loads;  ///< that a warp needs per multiply-add, counted in the code that CUDA 13.0 compiles
};

const Step steps[] = {{"1 one thread per element", naive, 2},         // two, from global memory
                      {"2 tiles of 16 x 16", shared_tile<16>, 1.25},  // from shared memory, those of A in fours
                      {"2 tiles of 32 x 32", shared_tile<32>, 1.25},  // the same, each number used by more threads
                      {"3 8 x 16 sums per thread", register_block, 24 / 128.0},
                      {"4 four floats per load", vector_loads, 6 / 128.0},
                      {"5 asynchronous copies", async_copy, 6 / 128.0}};
