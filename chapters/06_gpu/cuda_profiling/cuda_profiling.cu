// Three slow launches and a profiler
//
// Four launches square the same numbers. Three take 2.5 to 12 times as long as the first, each for its own reason.
// Beside the times the program prints what can be known without a profiler: how many threads a multiprocessor holds at
// once, which the runtime says; how many of the bytes that a warp loads are used, which follows from the addresses; and
// how long the arithmetic takes alone. Each slow launch differs from the first in one of them. A profiler measures the
// reasons; it can select launches by the ranges (NVTX) that the program names.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_profiling/cuda_profiling.cu common/cookbook/*.cpp -lfmt -o cuda_profiling
// Run:     cuda_profiling [--count N]

#include <cmath>
#include <nvtx3/nvtx3.hpp>
#include <set>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"

namespace {

constexpr int threads = 256;    // of a block
constexpr int neighbours = 32;  // that a thread of square_neighbours squares

__global__ void square(const float* in, float* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}

/// Each thread squares so many neighbouring numbers.
__global__ void square_neighbours(const float* in, float* out, std::size_t count) {
  const std::size_t first = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * neighbours;
  for (std::size_t i = first; i < first + neighbours && i < count; ++i) out[i] = in[i] * in[i];
}

/// pow() of a float and an int is one of two doubles, in C++ and here.
__global__ void square_by_pow(const float* in, float* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = static_cast<float>(pow(in[i], 2));
}

/// A number that costs one instruction: the bits of i behind those that stand for 1.
__device__ float between_1_and_2(int i) { return __int_as_float(0x3F800000 | (i & 0x7FFFFF)); }

/// The arithmetic of a launch alone: nothing is loaded, and nothing is stored, since no result is 1e30. No more threads
/// than the device holds share the work, so that starting blocks takes hardly any of the time.
__global__ void product_alone(float* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float number = between_1_and_2(i);
    if (number * number == 1e30F) out[i] = number;
  }
}

__global__ void pow_alone(float* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float number = between_1_and_2(i);
    if (static_cast<float>(pow(number, 2)) == 1e30F) out[i] = number;
  }
}

/// Memory comes in pieces of 32 bytes. How many bytes are used of each piece that a warp of 32 threads loads, if the
/// numbers of neighbouring threads lie so many numbers apart?
int bytes_used(std::size_t apart) {
  std::set<std::size_t> pieces;
  for (std::size_t thread = 0; thread < 32; ++thread) pieces.insert(thread * apart * sizeof(float) / 32);
  return static_cast<int>(32 * sizeof(float) / pieces.size());
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

  const auto time_alone = [&](auto arithmetic) {
    return fastest_alone(
        [&] {
          arithmetic<<<gpu::resident_blocks(arithmetic, threads), threads>>>(out.data(), static_cast<int>(count));
          CUDA_CHECK(cudaGetLastError());
        },
        3);
  };
  const double product = time_alone(product_alone), power = time_alone(pow_alone);

  const auto run = [&](const char* name, auto kernel, std::size_t apart, std::size_t shared_bytes, double alone) {
    const nvtx3::scoped_range range{name};  // what is launched until the end of this function belongs to it
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const auto blocks = static_cast<unsigned>((count + threads * apart - 1) / (threads * apart));
    out.poison();
    const double seconds = fastest_alone([&] {
      kernel<<<blocks, threads, shared_bytes>>>(in.data(), out.data(), count);
      CUDA_CHECK(cudaGetLastError());
    });
    if (first == 0) first = seconds;
    int held = 0;  // blocks
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, kernel, threads, shared_bytes));
    cookbook::println("{:<26}{:7.0f} us{:8.1f} x{:9} of {}{:8} of 32{:17.0f} us", name, seconds * 1e6, seconds / first,
                      held * threads, device.maxThreadsPerMultiProcessor, bytes_used(apart), alone * 1e6);
    const std::vector<float> squares = out.to_host();
    for (std::size_t i = 0; i < count; ++i) {
      const float square_of_i = numbers[i] * numbers[i];
      wrong += !(std::abs(squares[i] - square_of_i) <= 1e-6F * square_of_i);  // pow() may differ in the last digit
    }
  };
  cookbook::println("{:<26}{:>10}{:>10}{:>17}{:>14}{:>20}", "", "time", "slower", "threads held", "bytes used",
                    "arithmetic alone");
  run("one number per thread", square, 1, 0, product);
  run("32 neighbours per thread", square_neighbours, neighbours, 0, product);
  run("too much shared memory", square, 1, device.sharedMemPerBlockOptin / 2, product);
  run("pow in double precision", square_by_pow, 1, 0, power);

  cookbook::Checks checks;
  checks.equal("wrong squares", wrong, 0);
  return checks.exit_code();
}
