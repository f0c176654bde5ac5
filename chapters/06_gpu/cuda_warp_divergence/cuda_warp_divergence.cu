// Warp divergence
//
// A GPU runs threads in groups of 32, called warps. The threads of a warp normally take each instruction together. If
// an `if` sends them different ways, the warp takes these ways one after another. Here 1024 threads go 1, 2, 4 ... 32
// ways of equal length, and the device counts its clock cycles: first where each warp goes all of these ways, then
// where each warp goes one of them.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_warp_divergence/cuda_warp_divergence.cu common/cookbook/*.cpp -lfmt -o cuda_warp_divergence
// Run:     cuda_warp_divergence [--steps N]

#include <algorithm>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

constexpr int warp_size = 32, threads = 1024;

/// One of 32 ways, each with code of its own. After 200 steps from -1, where it begins here, x is 2 * way.
/// `__device__`: it is called by code on the device. `#pragma unroll 1` keeps the loop a loop.
template <int way>
__device__ float walk(float x, int steps) {
#pragma unroll 1
  for (int i = 0; i < steps; ++i) x = x / 2 + way;
  return x;
}

/// The branch: if (way == 31) ... else if (way == 30) ... and so on down to 0.
template <int number = warp_size - 1>
__device__ float branch(int way, float x, int steps) {
  if constexpr (number == 0) {
    return walk<0>(x, steps);
  } else {
    if (way == number) return walk<number>(x, steps);
    return branch<number - 1>(way, x, steps);
  }
}

/// Which of the `ways` a thread goes: its neighbours go others, or its whole warp goes the same one.
__host__ __device__ int way_of(int thread, int ways, bool whole_warps) {
  return (whole_warps ? thread / warp_size : thread % warp_size) % ways;
}

/// One block of 32 warps.
__global__ void go(int ways, bool whole_warps, int steps, float* values, long long* cycles) {
  const int thread = threadIdx.x;
  const int way = way_of(thread, ways, whole_warps);
  __syncthreads();
  const long long start = clock64();  // reads the multiprocessor's cycle counter
  values[thread] = branch(way, values[thread], steps);
  __syncthreads();  // all threads have arrived
  if (thread == 0) *cycles = clock64() - start;
}

struct Measured {
  long long cycles;  ///< the fewest of ten launches
  int wrong;         ///< threads whose result is wrong
};

Measured measure(int ways, bool whole_warps, int steps) {
  Measured measured{1LL << 62, 0};
  for (int launch = 0; launch < 10; ++launch) {
    gpu::DeviceArray<float> values(std::vector<float>(threads, -1));
    gpu::DeviceArray<long long> cycles(1);
    go<<<1, threads>>>(ways, whole_warps, steps, values.data(), cycles.data());
    CUDA_CHECK(cudaGetLastError());
    const std::vector<float> result = values.to_host();
    for (int thread = 0; thread < threads; ++thread) {
      measured.wrong += result[thread] != static_cast<float>(2 * way_of(thread, ways, whole_warps));
    }
    measured.cycles = std::min(measured.cycles, cycles.to_host()[0]);
  }
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 1'000;
  cookbook::Options options("What a branch costs that splits a warp");
  options.add("steps", steps, "length of each way", 200, 100'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  int wrong = 0;
  const auto unsplit = static_cast<double>(measure(1, false, steps).cycles);
  cookbook::println("clock cycles, divided by those of one way");
  cookbook::println("the block goes   each warp goes all of them   each warp goes one");
  for (int ways = 1; ways <= warp_size; ways *= 2) {
    const Measured all = measure(ways, false, steps), one = measure(ways, true, steps);
    wrong += all.wrong + one.wrong;
    cookbook::println("{:3} {:<10} {:25.2f} x {:18.2f} x", ways, ways == 1 ? "way" : "ways", all.cycles / unsplit,
                      one.cycles / unsplit);
  }

  cookbook::Checks checks;
  checks.equal("threads with a wrong result", wrong, 0);
  return checks.exit_code();
}
