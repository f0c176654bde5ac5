// Cooperative groups
//
// The median of four million numbers is found in 24 steps. Each step halves an interval, and for this it must know how
// many of all numbers are below its middle, so all blocks have to wait for one another. The usual barrier of this kind
// is the end of a kernel: a launch for each step, which loads the numbers again. In a cooperative launch there is a
// barrier within the kernel, and each thread keeps its numbers in registers. The program shows what both cost, and what
// happens to a grid with more blocks than the device runs at once.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_cooperative_groups/cuda_cooperative_groups.cu common/cookbook/*.cpp -lfmt -o cuda_cooperative_groups
// Run:     cuda_cooperative_groups [--blocks N]

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"

namespace {

namespace cg = cooperative_groups;

constexpr int threads = 1024, per_thread = 16, steps = 24;  // threads per block, numbers per thread

/// From `low` on and below `high`.
struct Interval {
  float low = 0, high = 1;
  __host__ __device__ float middle() const { return (low + high) / 2; }
};

/// The half in which the median is, if `below` of `count` numbers are below the interval's middle. (The median of an
/// even number of numbers is here the first of the upper half.)
__host__ __device__ Interval halved(Interval interval, unsigned below, unsigned count) {
  return below > count / 2 ? Interval{interval.low, interval.middle()} : Interval{interval.middle(), interval.high};
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
__global__ void one_step(const float* numbers, Interval* intervals, unsigned* below, int step) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread];
  load(numbers, mine);
  const Interval now = step == 0 ? Interval{} : halved(intervals[step - 1], below[step - 1], count);
  if (grid.thread_rank() == 0) intervals[step] = now;
  count_below(mine, now.middle(), &below[step]);
}

/// All steps in one launch. The threads keep their numbers while they wait, or (for comparison) load them again.
template <bool keep>
__global__ void __launch_bounds__(threads, gpu::threads_per_multiprocessor / threads)
    all_steps(const float* numbers, unsigned* below) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned count = per_thread * grid.num_threads();
  float mine[per_thread];
  load(numbers, mine);
  Interval now;
  for (int step = 0; step < steps; ++step) {
    if (!keep && step > 0) load(numbers, mine);
    count_below(mine, now.middle(), &below[step]);
    grid.sync();  // waits for all threads of all blocks
    now = halved(now, below[step], count);
  }
}

__global__ void only_barriers(int count) {
  for (int i = 0; i < count; ++i) cg::this_grid().sync();
}
__global__ void nothing() {}

/// <<<blocks, threads, 0, stream>>> for a kernel whose blocks wait for one another. Refused unless all run at once.
template <typename... Arguments>
cudaError_t launch_cooperatively(void (*kernel)(Arguments...), unsigned blocks, cudaStream_t stream,
                                 std::type_identity_t<Arguments>... arguments) {
  void* addresses[] = {&arguments...};
  return cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(threads), addresses, 0, stream);
}

constexpr int repeats = 50;

/// How long one of the 50 repetitions takes that `start(stream)` queues, in seconds: the shortest of three times.
template <typename Start>
double time_of(Start start) {
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  gpu::EventTimer timer;
  double shortest = 1e9;
  for (int round = 0; round < 3; ++round) {
    timer.start(stream);
    start(stream);
    shortest = std::min(shortest, timer.stop(stream) / repeats);
  }
  CUDA_CHECK(cudaStreamDestroy(stream));
  return shortest;
}

/// The same for a graph of 50 repetitions (recipe cuda_graph): the device goes from one to the next without the host.
template <typename Work>
double time_in_graph(Work work) {
  std::unique_ptr<gpu::RecordedWork> recorded;
  return time_of([&](cudaStream_t stream) {
    if (!recorded) {
      recorded = std::make_unique<gpu::RecordedWork>(stream, [&] {
        for (int i = 0; i < repeats; ++i) work(stream);
      });
    }
    recorded->launch(stream);
  });
}

void print(const char* what, double seconds) { cookbook::println("{:<46}{:6.2f} us", what, seconds * 1e6); }

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

  const std::size_t count = std::size_t(blocks) * threads * per_thread;
  std::vector<float> numbers = gpu::random_numbers(5, count);
  for (float& number : numbers) number = std::abs(number);
  const gpu::DeviceArray<float> on_device(numbers);
  gpu::DeviceArray<unsigned> below(steps);
  gpu::DeviceArray<Interval> intervals(steps);
  const auto nothing_more = [&](cudaStream_t stream) {
    nothing<<<blocks, threads, 0, stream>>>();
    CUDA_CHECK(cudaGetLastError());
  };
  const auto set_to_zero = [&](cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(below.data(), 0, steps * sizeof(unsigned), stream));
  };
  const auto in_many = [&](cudaStream_t stream) {
    set_to_zero(stream);
    for (int step = 0; step < steps; ++step) {
      one_step<<<blocks, threads, 0, stream>>>(on_device.data(), intervals.data(), below.data(), step);
      CUDA_CHECK(cudaGetLastError());
    }
  };
  const auto in_one_loading = [&](cudaStream_t stream) {
    set_to_zero(stream);
    CUDA_CHECK(launch_cooperatively(all_steps<false>, blocks, stream, on_device.data(), below.data()));
  };
  const auto in_one = [&](cudaStream_t stream) {
    set_to_zero(stream);
    CUDA_CHECK(launch_cooperatively(all_steps<true>, blocks, stream, on_device.data(), below.data()));
  };
  const auto counts = [&](auto work) {
    below.poison();
    intervals.poison();
    work(nullptr);
    return below.to_host();
  };
  const std::vector<unsigned> many = counts(in_many), loading = counts(in_one_loading), one = counts(in_one);
  Interval last;
  for (const unsigned number : many) last = halved(last, number, static_cast<unsigned>(count));
  cookbook::println("{} numbers, their median is at least {:.8f} and below {:.8f}", count, last.low, last.high);

  print("an empty kernel, launched by the host", time_of([&](cudaStream_t stream) {
          for (int i = 0; i < repeats; ++i) nothing_more(stream);
        }));
  print("an empty kernel, launched in a graph", time_in_graph(nothing_more));
  print("a barrier for the whole grid", time_of([&](cudaStream_t stream) {
          CUDA_CHECK(launch_cooperatively(only_barriers, blocks, stream, repeats));
        }));
  print("24 steps, a launch for each, in a graph", time_in_graph(in_many));
  print("24 steps in one launch, each loads again", time_in_graph(in_one_loading));
  print("24 steps in one launch, loaded once", time_in_graph(in_one));

  const auto median = numbers.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(numbers.begin(), median, numbers.end());
  const cudaError_t too_large =
      launch_cooperatively(all_steps<true>, at_once + 1, nullptr, on_device.data(), below.data());
  cudaGetLastError();  // forgets that error

  cookbook::Checks checks;
  checks.that("the median lies there", last.low <= *median && *median < last.high);
  checks.that("the counts of all steps are the same three times", many == loading && many == one);
  checks.equal("a grid with one block too many", std::string(cudaGetErrorString(too_large)),
               "too many blocks in cooperative launch");
  return checks.exit_code();
}
