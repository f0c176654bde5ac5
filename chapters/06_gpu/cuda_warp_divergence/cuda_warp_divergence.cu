// Warp divergence
//
// A GPU runs threads in groups of 32, called warps. The threads of a warp normally take each instruction together. If
// an `if` sends them different ways, the warp takes these ways one after another. Here 1024 threads go 1, 2, 4 ... 32
// ways of equal length, and the device counts its clock cycles: first with all ways in every warp, then with one way
// per warp.
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

/// One block, whose threads go `ways` ways: neighbours go different ways, or whole warps do.
__global__ void go(int ways, bool whole_warps, int steps, float* values, long long* cycles) {
  const int thread = threadIdx.x;
  const int way = (whole_warps ? thread / warp_size : thread % warp_size) % ways;
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
      const int way = (whole_warps ? thread / warp_size : thread % warp_size) % ways;
      measured.wrong += result[thread] != static_cast<float>(2 * way);
    }
    measured.cycles = std::min(measured.cycles, cycles.to_host()[0]);
  }
  return measured;
}

/// Every thread of a block with three dimensions asks for the number of the first thread of its warp, as the hardware
/// has put them together, and compares it with the rule: x counts first, then y, then z.
__global__ void count_in_place(int* in_place) {
  const int number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int first_of_my_warp = __shfl_sync(0xFFFFFFFF, number, 0);  // what the warp's thread 0 has in `number`
  if (first_of_my_warp == number / warp_size * warp_size) atomicAdd(in_place, 1);
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
  cookbook::println("ways   all in each warp   one in each warp");
  for (int ways = 1; ways <= warp_size; ways *= 2) {
    const Measured neighbours = measure(ways, false, steps), warps = measure(ways, true, steps);
    wrong += neighbours.wrong + warps.wrong;
    cookbook::println("{:4} {:16.2f} x {:16.2f} x", ways, neighbours.cycles / unsplit, warps.cycles / unsplit);
  }

  gpu::DeviceArray<int> in_place(1);
  in_place.zero();
  count_in_place<<<1, dim3(8, 4, 4)>>>(in_place.data());
  CUDA_CHECK(cudaGetLastError());

  cookbook::Checks checks;
  checks.equal("threads with a wrong result", wrong, 0);
  checks.equal("threads of an 8 x 4 x 4 block that are in warp (x + 8 y + 32 z) / 32", in_place.to_host()[0], 128);
  return checks.exit_code();
}
