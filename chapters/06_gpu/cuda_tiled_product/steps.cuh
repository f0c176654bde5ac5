/// The five steps, under the names by which program and bench know them.
#pragma once

#include "step1_naive.cuh"
#include "step2_shared_tile.cuh"
#include "step3_register_block.cuh"
#include "step4_vector_loads.cuh"
#include "step5_async_copy.cuh"

struct Step {
  const char* name;
  const char* change;                                        ///< what the step does differently
  void (*run)(const Matrix& a, const Matrix& b, Matrix& c);  ///< queues c = a * b on the default stream
};

const Step steps[] = {
    {"1 one thread per element", "each multiplication loads two numbers from global memory", naive},
    {"2 shared tile, 16 x 16", "a block loads each of its numbers once, and 16 threads use it", shared_tile<16>},
    {"2 shared tile, 32 x 32", "a larger block, so 32 threads use it", shared_tile<32>},
    {"3 register block", "a thread computes 8 x 16 elements; 24 loads serve 128 multiplications", register_block},
    {"4 four floats per load", "6 loads do the work of these 24", vector_loads},
    {"5 asynchronous copies", "the next tile arrives while the threads compute", async_copy}};
