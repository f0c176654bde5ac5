// Warp divergence
//
// A GPU runs threads in groups of 32, called warps. The threads of a warp normally take each instruction together. If
// an `if` sends them different paths, the warp takes these paths one after another. Here a block's threads take 1, 2,
// 4 ... 32 paths of equal length, which are given to them in four arrangements, and the device counts its clock cycles.
// What counts is how many different paths a warp has, and sorting the threads by their paths lowers it. In the last row
// the block itself sorts, and that is counted, too.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_warp_divergence/cuda_warp_divergence.cu common/cookbook/*.cpp -lfmt -o cuda_warp_divergence
// Run:     cuda_warp_divergence [--steps N] [--warps N]

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

constexpr int warp_size = 32, most_paths = 32;

/// One of 32 paths: a loop that adds a constant of its own, so that each path is code of its own. (With a variable,
/// `x / 2 + path`, all paths would be one loop with different data, and no warp would be split.) From -1, 200 steps or
/// more lead to 2 * path. `__device__`: it is called by code on the device. `#pragma unroll 1` keeps the loop a loop.
template <int path>
__device__ float walk(int steps) {
  float x = -1;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) x = x / 2 + path;
  return x;
}

/// The branch: if (path == 31) ... else if (path == 30) ... and so on down to 0.
template <int number = most_paths - 1>
__device__ float branch(int path, int steps) {
  if constexpr (number == 0) {
    return walk<0>(steps);
  } else {
    if (path == number) return walk<number>(steps);
    return branch<number - 1>(path, steps);
  }
}

/// One block, each of whose threads takes its path.
__global__ void go(const int* paths, int steps, float* results, long long* cycles) {
  const int thread = threadIdx.x, path = paths[thread];
  __syncthreads();
  const long long start = clock64();  // reads the multiprocessor's cycle counter
  results[thread] = branch(path, steps);
  __syncthreads();  // all threads have arrived
  if (thread == 0) *cycles = clock64() - start;
}

/// The threads of a block exchange their work, so that equal paths come together. Returns whose work this thread is to
/// do: first that of the threads with path 0, then that with path 1 and so on.
__device__ int exchanged(int path) {
  __shared__ int place[most_paths], work[most_paths * warp_size];
  const int thread = threadIdx.x;
  if (thread < most_paths) place[thread] = 0;
  __syncthreads();
  atomicAdd(&place[path], 1);  // how many threads have each path
  __syncthreads();
  if (thread == 0) {  // and where the first of them is to stand
    int first = 0;
    for (int& of_path : place) {
      const int count = of_path;
      of_path = first;
      first += count;
    }
  }
  __syncthreads();
  work[atomicAdd(&place[path], 1)] = thread;
  __syncthreads();
  return work[thread];
}

/// The same, after an exchange of the work.
__global__ void exchange_and_go(const int* paths, int steps, float* results, long long* cycles) {
  const int thread = threadIdx.x, path = paths[thread];
  __syncthreads();
  const long long start = clock64();
  const int whose = exchanged(path);
  results[whose] = branch(paths[whose], steps);
  __syncthreads();
  if (thread == 0) *cycles = clock64() - start;
}

// Four arrangements: which of so many paths each thread takes.

std::vector<int> thread_by_thread(int threads, int paths) {
  std::vector<int> path(threads);
  for (int thread = 0; thread < threads; ++thread) path[thread] = thread % paths;
  return path;
}

std::vector<int> warp_by_warp(int threads, int paths) {
  std::vector<int> path(threads);
  for (int thread = 0; thread < threads; ++thread) path[thread] = thread / warp_size % paths;
  return path;
}

std::vector<int> at_random(int threads, int paths) {
  std::mt19937 random(1);
  std::vector<int> path(threads);
  for (int thread = 0; thread < threads; ++thread) path[thread] = static_cast<int>(random() % paths);
  return path;
}

std::vector<int> sorted(int threads, int paths) {
  std::vector<int> path = at_random(threads, paths);
  std::sort(path.begin(), path.end());
  return path;
}

/// How many different paths a warp has, on average.
double different_per_warp(const std::vector<int>& paths) {
  std::size_t sum = 0;
  for (auto warp = paths.begin(); warp != paths.end(); warp += warp_size) {
    sum += std::set<int>(warp, warp + warp_size).size();
  }
  return static_cast<double>(sum * warp_size) / static_cast<double>(paths.size());
}

using Kernel = void (*)(const int*, int, float*, long long*);

/// The fewest clock cycles of ten launches, after one that loads the code. Adds to `wrong` each thread whose result is
/// wrong.
double cycles_of(Kernel kernel, const std::vector<int>& paths, int steps, int& wrong) {
  const gpu::DeviceArray<int> device_paths(paths);
  gpu::DeviceArray<float> results(paths.size());
  gpu::DeviceArray<long long> cycles(1);
  std::vector<long long> counted;
  for (int launch = 0; launch < 11; ++launch) {
    results.poison();
    kernel<<<1, static_cast<unsigned>(paths.size())>>>(device_paths.data(), steps, results.data(), cycles.data());
    CUDA_CHECK(cudaGetLastError());
    const std::vector<float> result = results.to_host();
    for (std::size_t thread = 0; thread < paths.size(); ++thread) {
      wrong += result[thread] != static_cast<float>(2 * paths[thread]);
    }
    counted.push_back(cycles.to_host()[0]);
  }
  return static_cast<double>(*std::min_element(counted.begin() + 1, counted.end()));
}

struct Arrangement {
  const char* name;
  std::vector<int> (*of)(int threads, int paths);
  Kernel kernel = go;
};

}  // namespace

int main(int argc, char** argv) {
  int steps = 1'000, warps = 32;
  cookbook::Options options("What a branch costs that splits a warp");
  options.add("steps", steps, "length of each path; from 200 steps on the results are exact", 200, 100'000);
  options.add("warps", warps, "warps of the block", 1, 32);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const int threads = warps * warp_size;
  int wrong = 0;
  const double one_path = cycles_of(go, thread_by_thread(threads, 1), steps, wrong);
  cookbook::println("clock cycles, divided by the {:.0f} of one path", one_path);
  cookbook::println("{:<22}{:7}{:9}{:9}{:9}{:9}{:9}{:>26}", "paths in the block", 1, 2, 4, 8, 16, 32,
                    "paths per warp if 32");
  for (const auto& [name, of, kernel] : {Arrangement{"thread by thread", thread_by_thread},
                                         {"warp by warp", warp_by_warp},
                                         {"at random", at_random},
                                         {"at random, sorted", sorted},
                                         {"at random, exchanged", at_random, exchange_and_go}}) {
    std::string row;
    for (int paths = 1; paths <= most_paths; paths *= 2) {
      row += fmt::format("{:7.2f} x", cycles_of(kernel, of(threads, paths), steps, wrong) / one_path);
    }
    cookbook::println("{:<22}{}{:24.1f}", name, row,
                      different_per_warp((kernel == go ? of : sorted)(threads, most_paths)));
  }

  cookbook::Checks checks;
  checks.equal("threads with a wrong result", wrong, 0);
  return checks.exit_code();
}
