// Three slow launches and a profiler
//
// Four launches square the same numbers. Three take 2.5 to 12 times as long as the first, each for its own reason.
// Times do not tell the reasons apart. How many threads a multiprocessor can hold of each, the occupancy, hints at one
// of them: the runtime says it, and the program works it out as well. For the others one asks the profiler, which can
// select launches by the ranges (NVTX) that the program names.
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

using Kernel = void (*)(const float*, float*, std::size_t);

/// How many blocks of the kernel a multiprocessor holds at once, as cuda_occupancy.h of the toolkit counts. Registers
/// are given to warps in units of 256, each warp belonging to one of four parts of the multiprocessor; shared memory is
/// given to blocks in units of 128 bytes.
int count_blocks(Kernel kernel, std::size_t shared_bytes, const cudaDeviceProp& device) {
  cudaFuncAttributes needs;
  CUDA_CHECK(cudaFuncGetAttributes(&needs, kernel));
  const auto round_up = [](std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; };
  const std::size_t warps = (threads + 31) / 32;
  const std::size_t registers = round_up(32 * needs.numRegs, 256);
  const std::size_t used = needs.sharedSizeBytes + shared_bytes + device.reservedSharedMemPerBlock;
  const std::size_t shared = round_up(std::max<std::size_t>(used, 1), 128);  // used: 0 before capability 8.0
  const std::size_t limits[] = {
      4 * (device.regsPerMultiprocessor / 4 / registers) / warps, device.sharedMemPerMultiprocessor / shared,
      device.maxThreadsPerMultiProcessor / (32 * warps), static_cast<std::size_t>(device.maxBlocksPerMultiProcessor)};
  return static_cast<int>(*std::min_element(std::begin(limits), std::end(limits)));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Find out why a kernel is slow");
  options.add("count", count, "numbers to square", 1, 1 << 30);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  int current = 0, wrong = 0, as_counted = 0;
  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDevice(&current));
  CUDA_CHECK(cudaGetDeviceProperties(&device, current));
  gpu::DeviceArray<float> in(count), out(count);
  gpu::fill_random(in, 1);
  const std::vector<float> numbers = in.to_host();

  const auto run = [&](const char* name, Kernel kernel, std::size_t numbers_per_thread, std::size_t shared_bytes) {
    const nvtx3::scoped_range range{name};  // what is launched until the end of this function belongs to it
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const std::size_t numbers_per_block = threads * numbers_per_thread;
    const auto blocks = static_cast<unsigned>((count + numbers_per_block - 1) / numbers_per_block);
    out.poison();
    const double seconds = fastest_alone([&] {
      kernel<<<blocks, threads, shared_bytes>>>(in.data(), out.data(), count);
      CUDA_CHECK(cudaGetLastError());
    });
    int held = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, kernel, threads, shared_bytes));
    as_counted += held == count_blocks(kernel, shared_bytes, device);
    cookbook::println("{:<28}{:6.0f} GB/s  {:4} of {} threads per multiprocessor", name,
                      2 * count * sizeof(float) / seconds * 1e-9, held * threads, device.maxThreadsPerMultiProcessor);
    const std::vector<float> squares = out.to_host();
    for (std::size_t i = 0; i < count; ++i) {
      const float square_of_i = numbers[i] * numbers[i];
      wrong += !(std::abs(squares[i] - square_of_i) <= 1e-6F * square_of_i);  // pow() may differ in the last digit
    }
  };
  run("one number per thread", square, 1, 0);
  run("32 neighbours per thread", square_neighbours, neighbours, 0);
  run("too much shared memory", square, 1, device.sharedMemPerBlockOptin / 2);
  run("pow in double precision", square_by_pow, 1, 0);

  cookbook::Checks checks;
  checks.equal("wrong squares", wrong, 0);
  checks.equal("launches of which as many blocks fit as counted by hand", as_counted, 4);
  return checks.exit_code();
}
