// Slow launches and a profiler
//
// Seven launches square the same numbers, and take up to 12 times as long as the first. Beside the times the program
// prints what can be known without a profiler: how many threads a multiprocessor holds at once, which the runtime says;
// how much memory these threads touch, and how many of the bytes that a load fetches it uses, which is arithmetic; and
// how long the squares take alone. It names the one of them that may explain a slow launch. A profiler measures the
// reasons; it can select launches by the ranges (NVTX) that the program names.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_profiling/cuda_profiling.cu common/cookbook/*.cpp -lfmt -o cuda_profiling
// Run:     cuda_profiling [--count N]

#include <algorithm>
#include <cmath>
#include <nvtx3/nvtx3.hpp>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"

namespace {

constexpr int threads = 256;                          // of a block
constexpr std::size_t first_level_cache = 256 << 10;  // of an H200's multiprocessor, at most

__global__ void square(const float* in, float* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}

/// Each thread squares so many neighbouring numbers.
template <int neighbours>
__global__ void square_neighbours(const float* in, float* out, std::size_t count) {
  const std::size_t first = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * neighbours;
  for (std::size_t i = first; i < first + neighbours && i < count; ++i) out[i] = in[i] * in[i];
}

/// The same, with the promise that no number is reached through both pointers.
template <int neighbours>
__global__ void square_restrict(const float* __restrict__ in, float* __restrict__ out, std::size_t count) {
  const std::size_t first = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * neighbours;
  for (std::size_t i = first; i < first + neighbours && i < count; ++i) out[i] = in[i] * in[i];
}

/// Each thread loads four numbers before it squares the first. Neighbouring threads load neighbouring numbers.
__global__ void square_four(const float* in, float* out, std::size_t count) {
  const std::size_t first = std::size_t{4} * blockIdx.x * blockDim.x + threadIdx.x;
  float mine[4];
  for (int k = 0; k < 4; ++k) mine[k] = first + k * blockDim.x < count ? in[first + k * blockDim.x] : 0;
  for (int k = 0; k < 4; ++k) {
    if (first + k * blockDim.x < count) out[first + k * blockDim.x] = mine[k] * mine[k];
  }
}

/// pow() of a float and an int is one of two doubles, in C++ and here.
__global__ void square_by_pow(const float* in, float* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = static_cast<float>(pow(in[i], 2));
}

struct Launch {
  const char* name;
  void (*kernel)(const float*, float*, std::size_t) = square;
  int per_thread = 1;            // numbers that a thread squares
  int apart = 1;                 // how far apart neighbouring threads load at the same time, in numbers
  std::size_t shared_bytes = 0;  // of a block
  double alone = 0;              // seconds that its squares take without arrays
};

/// What can be known of a launch without a profiler, per multiprocessor.
struct Known {
  int held = 0;             // threads at once
  std::size_t touched = 0;  // bytes that these read and write
  int used = 0;             // of each 32 bytes that a load of a warp fetches, those that it uses
};

Known known_of(const Launch& launch) {
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.kernel, threads, launch.shared_bytes));
  Known known;
  known.held = blocks * threads;
  known.touched = std::size_t{2} * sizeof(float) * known.held * launch.per_thread;
  known.used = std::max(32 / launch.apart, 4);  // memory comes in pieces of 32 bytes, a number has 4
  return known;
}

/// Which of these figures, or of the squares' time alone, may explain a slow launch.
const char* suspect(const Known& known, double alone, double seconds, const cudaDeviceProp& device) {
  if (alone > 0.8 * seconds) return "squares alone";
  if (2 * known.held <= device.maxThreadsPerMultiProcessor) return "threads held";
  if (known.used == 32) return "-";
  return known.touched > first_level_cache ? "bytes used, touched" : "bytes used";
}

/// The same arithmetic alone: nothing is loaded, and nothing is stored, since no result is 1e30. The device's threads
/// share the work in a loop, and a number is made from its index: it is between 1 and 2, and its fraction has the bits
/// of i.
template <bool by_pow>
__global__ void squares_alone(float* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float number = __int_as_float(0x3F800000 | (i & 0x7FFFFF));
    const float result = by_pow ? static_cast<float>(pow(number, 2)) : number * number;
    if (result == 1e30F) out[i] = number;
  }
}

double time_alone(void (*kernel)(float*, int), gpu::DeviceArray<float>& out) {
  const int blocks = gpu::resident_blocks(kernel, threads);
  return fastest_alone([&] {
    kernel<<<blocks, threads>>>(out.data(), static_cast<int>(out.size()));
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Find out why a kernel is slow");
  options.add("count", count, "numbers to square", 1, 1 << 30);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  int wrong = 0;
  double first = 0;  // seconds of the first launch
  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  gpu::DeviceArray<float> in(count), out(count);
  gpu::fill_random(in, 1);
  const std::vector<float> numbers = in.to_host();
  const double product = time_alone(squares_alone<false>, out), power = time_alone(squares_alone<true>, out);

  const auto run = [&](const Launch& launch) {
    const nvtx3::scoped_range range{launch.name};  // what is launched until the end of this function belongs to it
    const std::size_t per_block = std::size_t{threads} * launch.per_thread;
    const auto blocks = static_cast<unsigned>((count + per_block - 1) / per_block);
    CUDA_CHECK(cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes));
    out.poison();
    const double seconds = fastest_alone([&] {
      launch.kernel<<<blocks, threads, launch.shared_bytes>>>(in.data(), out.data(), count);
      CUDA_CHECK(cudaGetLastError());
    });
    if (first == 0) first = seconds;
    const Known known = known_of(launch);
    const double alone = launch.alone > 0 ? launch.alone : product;
    cookbook::println("{:<24}{:6.0f} us{:6.1f} x{:6} of {}{:6} KiB{:8} of 32{:12.0f} us   {}", launch.name,
                      seconds * 1e6, seconds / first, known.held, device.maxThreadsPerMultiProcessor,
                      known.touched / 1024, known.used, alone * 1e6, suspect(known, alone, seconds, device));
    const std::vector<float> squares = out.to_host();
    for (std::size_t i = 0; i < count; ++i) {
      const float square_of_i = numbers[i] * numbers[i];
      wrong += !(std::abs(squares[i] - square_of_i) <= 1e-6F * square_of_i);  // pow() may differ in the last digit
    }
  };
  cookbook::println("{:<24}{:>9}{:>8}{:>14}{:>10}{:>14}{:>15}   {}", "", "time", "slower", "threads held", "touched",
                    "bytes used", "squares alone", "suspect");
  run({.name = "one number per thread"});
  run({.name = "8 neighbours per thread", .kernel = square_neighbours<8>, .per_thread = 8, .apart = 8});
  run({.name = "32 neighbours per thread", .kernel = square_neighbours<32>, .per_thread = 32, .apart = 32});
  run({.name = "32, with __restrict__", .kernel = square_restrict<32>, .per_thread = 32, .apart = 32});
  run({.name = "too much shared memory", .shared_bytes = device.sharedMemPerBlockOptin / 2});  // not used
  run({.name = "the same, 4 per thread",
       .kernel = square_four,
       .per_thread = 4,
       .shared_bytes = device.sharedMemPerBlockOptin / 2});
  run({.name = "pow in double precision", .kernel = square_by_pow, .alone = power});

  cookbook::Checks checks;
  checks.equal("wrong squares", wrong, 0);
  return checks.exit_code();
}
