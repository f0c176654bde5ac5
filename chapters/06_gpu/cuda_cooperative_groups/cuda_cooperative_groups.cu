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
#include "time_per_step.hpp"

namespace {

namespace cg = cooperative_groups;

constexpr int threads = 1024, per_thread = 16, steps = 24;  // threads per block, numbers per thread

// The parts of a step; they follow below.
__device__ void load(const float* numbers, float (&mine)[per_thread]);
__device__ void count_below(const float (&mine)[per_thread], float limit, unsigned* total);
__host__ __device__ float after_step(float at_least, float width, unsigned below, unsigned count);

/// All steps in one launch. The threads keep their numbers while they wait; for comparison, `keep` can be false.
template <bool keep>
__global__ void __launch_bounds__(threads, gpu::threads_per_multiprocessor / threads)
    all_steps(const float* numbers, unsigned* below, float* median) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread];
  float at_least = 0, width = 0.5F;  // the median is at least that, and less than at_least + 2 * width
  load(numbers, mine);               // into registers, where they stay
  for (int step = 0; step < steps; ++step, width /= 2) {
    if (!keep) load(numbers, mine);
    // below[step]: how many numbers of the whole grid are below the limit at_least + width
    count_below(mine, at_least + width, &below[step]);
    grid.sync();  // waits for all threads of all blocks
    at_least = after_step(at_least, width, below[step], count);
  }
  if (blockIdx.x + threadIdx.x == 0) *median = at_least;
}

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

/// A launch for each step: it finishes the step before, and counts for its own.
__global__ void __launch_bounds__(threads, gpu::threads_per_multiprocessor / threads)
    one_step(const float* numbers, float* at_least, unsigned* below, int step, float width) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread];
  load(numbers, mine);
  const float now = step == 0 ? 0 : after_step(at_least[step - 1], 2 * width, below[step - 1], count);
  if (grid.thread_rank() == 0) at_least[step] = now;
  count_below(mine, now + width, &below[step]);
}

/// What the forms need, and the forms: each queues all steps.
struct Search {
  int blocks;
  gpu::DeviceArray<float> numbers;
  gpu::DeviceArray<unsigned> below{steps};
  gpu::DeviceArray<float> at_least{steps}, found{1};

  void by_launches(cudaStream_t stream) {
    set_to_zero(stream);
    float width = 0.5F;
    for (int step = 0; step < steps; ++step, width /= 2) {
      one_step<<<blocks, threads, 0, stream>>>(numbers.data(), at_least.data(), below.data(), step, width);
      CUDA_CHECK(cudaGetLastError());
    }
  }
  template <bool keep>
  void by_barriers(cudaStream_t stream) {
    set_to_zero(stream);
    CUDA_CHECK(launch_cooperatively(all_steps<keep>, blocks, stream, numbers.data(), below.data(), found.data()));
  }
  void set_to_zero(cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(below.data(), 0, steps * sizeof(unsigned), stream));
  }
  void poison() { below.poison(), at_least.poison(), found.poison(); }
};

// The wait alone.
__global__ void nothing() {}
__global__ void only_barriers(int count) {
  for (int i = 0; i < count; ++i) cg::this_grid().sync();
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
      std::min(gpu::resident_blocks(all_steps<true>, threads), gpu::resident_blocks(all_steps<false>, threads));
  blocks = blocks == 0 ? at_once : std::min(blocks, at_once);

  const unsigned count = blocks * threads * per_thread;
  std::vector<float> numbers = gpu::random_numbers(5, count);
  for (float& number : numbers) number = (number + 1) / 2;  // 24 bits behind the point: a step finds one of them
  Search search{blocks, gpu::DeviceArray<float>(numbers)};
  const auto launches = [&](cudaStream_t stream) { search.by_launches(stream); };
  const auto loading = [&](cudaStream_t stream) { search.by_barriers<false>(stream); };
  const auto keeping = [&](cudaStream_t stream) { search.by_barriers<true>(stream); };
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
  search.poison();
  launches(nullptr);  // no launch follows the last one, so the host draws the last conclusion
  int wrong =
      after_step(search.at_least.to_host()[steps - 1], 0x1p-24F, search.below.to_host()[steps - 1], count) != *median;
  search.poison();
  loading(nullptr);
  wrong += search.found.to_host()[0] != *median;
  search.poison();
  keeping(nullptr);
  wrong += search.found.to_host()[0] != *median;

  cookbook::println("the median of {} numbers in {} steps", count, steps);
  cookbook::println("{:<46}{:>17}{:>16}", "all blocks wait for one another by", "the wait alone", "a whole step");
  print("a launch per step, from the host", by_host(steps, empty_launches), by_host(steps, launches));
  print("a launch per step, in a graph", in_graph(steps, empty_launches), in_graph(steps, launches));
  const double barrier = in_graph(steps, empty_barriers);
  print("a barrier in the kernel, numbers loaded again", barrier, in_graph(steps, loading));
  print("a barrier in the kernel, numbers kept", barrier, in_graph(steps, keeping));

  const cudaError_t too_large = launch_cooperatively(all_steps<true>, at_once + 1, nullptr, search.numbers.data(),
                                                     search.below.data(), search.found.data());
  cudaGetLastError();  // forgets that error

  cookbook::Checks checks;
  checks.equal("ways that find another median than the processor", wrong, 0);
  checks.equal("a grid with one block too many", std::string(cudaGetErrorString(too_large)),
               "too many blocks in cooperative launch");
  return checks.exit_code();
}
