// Cooperative groups
//
// The median of four million numbers is found in 24 steps. Each step has to know how many of all numbers are below a
// limit, so all blocks have to wait for one another. The usual barrier of this kind is the end of a kernel: a launch
// for each step, which loads the numbers again. In a cooperative launch there is a barrier within the kernel, and each
// thread can keep its numbers in registers. The program prints what the wait costs and what a whole step takes, and it
// shows what happens to a grid with more blocks than the device runs at once.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_cooperative_groups/cuda_cooperative_groups.cu common/cookbook/*.cpp -lfmt -o cuda_cooperative_groups
// Run:     cuda_cooperative_groups [--blocks N]

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"

namespace {

namespace cg = cooperative_groups;

constexpr int threads = 1024, per_thread = 16, steps = 24;  // threads per block, numbers per thread

/// What the median is at least, if so many of all numbers are below at_least + width: if these are no more than half,
/// the median is not among them. (Of an even number of numbers, the median is here the first of the upper half.)
__host__ __device__ float after_step(float at_least, float width, unsigned below, unsigned count) {
  return below <= count / 2 ? at_least + width : at_least;
}

/// Each block has threads * per_thread numbers that follow one another; those of a thread are `threads` apart.
__device__ void load(const float* numbers, float (&mine)[per_thread]) {
  numbers += std::size_t{blockIdx.x} * threads * per_thread + threadIdx.x;
  for (int k = 0; k < per_thread; ++k) mine[k] = numbers[k * threads];
}

/// Adds to `total` how many numbers of this block's threads are below the limit: first the counts in each tile of 32
/// threads, then those of the tiles. Between two calls the block needs a barrier, since the second writes what the
/// first has read; in all_steps it is grid.sync().
__device__ void count_below(const float (&mine)[per_thread], float limit, unsigned* total) {
  __shared__ unsigned of_tile[threads / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  unsigned below = 0;
  for (const float number : mine) below += number < limit;
  below = cg::reduce(tile, below, cg::plus<unsigned>());
  if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = below;
  block.sync();
  if (tile.meta_group_rank() != 0) return;
  below = cg::reduce(tile, of_tile[tile.thread_rank()], cg::plus<unsigned>());
  if (tile.thread_rank() == 0) atomicAdd(total, below);
}

/// All steps in one launch. The threads keep their numbers while they wait.
__global__ void __launch_bounds__(threads, gpu::threads_per_multiprocessor / threads)
    all_steps(const float* numbers, unsigned* below, float* median) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread], at_least = 0, width = 0.5F;
  load(numbers, mine);  // into registers, where they stay
  for (int step = 0; step < steps; ++step, width /= 2) {
    count_below(mine, at_least + width, &below[step]);
    grid.sync();  // waits for all threads of all blocks
    at_least = after_step(at_least, width, below[step], count);
  }
  if (blockIdx.x + threadIdx.x == 0) *median = at_least;
}

/// For comparison: the same, but each step loads the numbers again.
__global__ void __launch_bounds__(threads, gpu::threads_per_multiprocessor / threads)
    all_steps_loading(const float* numbers, unsigned* below, float* median) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread], at_least = 0, width = 0.5F;
  for (int step = 0; step < steps; ++step, width /= 2) {
    load(numbers, mine);
    count_below(mine, at_least + width, &below[step]);
    grid.sync();
    at_least = after_step(at_least, width, below[step], count);
  }
  if (blockIdx.x + threadIdx.x == 0) *median = at_least;
}

/// A launch for each step: it finishes the step before, and counts for its own.
__global__ void one_step(const float* numbers, float* at_least, unsigned* below, int step, float width) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread];
  load(numbers, mine);
  const float now = step == 0 ? 0 : after_step(at_least[step - 1], 2 * width, below[step - 1], count);
  if (grid.thread_rank() == 0) at_least[step] = now;
  count_below(mine, now + width, &below[step]);
}

__global__ void only_barriers(int count) {
  for (int i = 0; i < count; ++i) cg::this_grid().sync();
}
__global__ void nothing() {}

/// <<<blocks, threads, 0, stream>>> for a kernel whose blocks wait for one another. Refused unless all run at once.
template <typename Kernel, typename... Arguments>
cudaError_t launch_cooperatively(Kernel* kernel, unsigned blocks, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// Seconds per step, the shortest of three times. `work(stream)` queues all steps; it is repeated 20 times.
template <typename Work>
double by_host(Work work) {
  const auto repeated = [&] {
    for (int i = 0; i < 20; ++i) work(nullptr);
  };
  return fastest_alone(repeated, 3) / 20 / steps;
}

/// The same, recorded in a graph (recipe cuda_graph): the device goes from one kernel to the next without the host.
template <typename Work>
double in_graph(Work work) {
  cookbook::Benchmark row = gpu::graph_row("", steps, work, 20);
  return std::min({row.run(), row.run(), row.run()}) / steps;
}

void print(const char* barrier, double waiting, double step) {
  cookbook::println("{:<46}{:14.2f} us{:13.2f} us", barrier, waiting * 1e6, step * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  int blocks = 0;
  cookbook::Options options("Let all blocks of a grid wait for one another");
  options.add("blocks", blocks, "blocks of 1024 threads; 0: as many as run at once", 0, 65'536);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  const int at_once =
      std::min(gpu::resident_blocks(all_steps, threads), gpu::resident_blocks(all_steps_loading, threads));
  blocks = blocks == 0 ? at_once : std::min(blocks, at_once);

  const unsigned count = blocks * threads * per_thread;
  std::vector<float> numbers = gpu::random_numbers(5, count);
  for (float& number : numbers) number = (number + 1) / 2;  // 24 bits behind the point: a step finds one of them
  const gpu::DeviceArray<float> on_device(numbers);
  gpu::DeviceArray<unsigned> below(steps);
  gpu::DeviceArray<float> at_least(steps), found(1);
  const auto set_to_zero = [&](cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(below.data(), 0, steps * sizeof(unsigned), stream));
  };
  const auto launches = [&](cudaStream_t stream) {
    set_to_zero(stream);
    float width = 0.5F;
    for (int step = 0; step < steps; ++step, width /= 2) {
      one_step<<<blocks, threads, 0, stream>>>(on_device.data(), at_least.data(), below.data(), step, width);
      CUDA_CHECK(cudaGetLastError());
    }
  };
  const auto barriers_loading = [&](cudaStream_t stream) {
    set_to_zero(stream);
    CUDA_CHECK(launch_cooperatively(all_steps_loading, blocks, stream, on_device.data(), below.data(), found.data()));
  };
  const auto barriers_keeping = [&](cudaStream_t stream) {
    set_to_zero(stream);
    CUDA_CHECK(launch_cooperatively(all_steps, blocks, stream, on_device.data(), below.data(), found.data()));
  };
  const auto empty_launches = [&](cudaStream_t stream) {
    for (int step = 0; step < steps; ++step) {
      nothing<<<blocks, threads, 0, stream>>>();
      CUDA_CHECK(cudaGetLastError());
    }
  };
  const auto empty_barriers = [&](cudaStream_t stream) {
    CUDA_CHECK(launch_cooperatively(only_barriers, blocks, stream, steps));
  };

  const auto median = numbers.begin() + count / 2;
  std::nth_element(numbers.begin(), median, numbers.end());
  int wrong = 0;
  below.poison();
  at_least.poison();
  launches(nullptr);  // no launch follows the last one, so the host draws the last conclusion
  wrong += after_step(at_least.to_host().back(), 0x1p-24F, below.to_host().back(), count) != *median;
  for (const bool keep : {false, true}) {
    below.poison();
    found.poison();
    keep ? barriers_keeping(nullptr) : barriers_loading(nullptr);
    wrong += found.to_host()[0] != *median;
  }

  cookbook::println("the median of {} numbers in {} steps", count, steps);
  cookbook::println("{:<46}{:>17}{:>16}", "all blocks wait for one another by", "the wait alone", "a whole step");
  print("a launch per step, from the host", by_host(empty_launches), by_host(launches));
  print("a launch per step, in a graph", in_graph(empty_launches), in_graph(launches));
  const double barrier = in_graph(empty_barriers);
  print("a barrier in the kernel, numbers loaded again", barrier, in_graph(barriers_loading));
  print("a barrier in the kernel, numbers kept", barrier, in_graph(barriers_keeping));

  const cudaError_t too_large =
      launch_cooperatively(all_steps, at_once + 1, nullptr, on_device.data(), below.data(), found.data());
  cudaGetLastError();  // forgets that error

  cookbook::Checks checks;
  checks.equal("ways that find another median than the processor", wrong, 0);
  checks.equal("a grid with one block too many", std::string(cudaGetErrorString(too_large)),
               "too many blocks in cooperative launch");
  return checks.exit_code();
}
