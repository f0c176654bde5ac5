// Cooperative groups
//
// A vector is divided by its length (its Euclidean norm). No value can be divided before the squares of all have been
// added up, so all blocks have to wait for one another. The usual barrier of this kind is the end of a kernel. The
// program shows what it costs beside a barrier within a kernel, in which the values can stay in registers meanwhile.
// And it shows what happens to a grid with more blocks than the device runs at once.
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

constexpr int threads = 1024, per_thread = 16;  // threads per block, values per thread

/// The sum over all threads of the block, which each of them gets: first in tiles of 32 threads, then over the tiles,
/// of which there must be 32 at most. Between two calls the block needs a barrier, since the second writes what the
/// first has read; in one_launch it is grid.sync().
__device__ float sum_of_block(const cg::thread_block& block, float mine) {
  __shared__ float of_tile[threads / 32];
  const auto tile = cg::tiled_partition<32>(block);
  const float sum = cg::reduce(tile, mine, cg::plus<float>());
  if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = sum;
  block.sync();
  const unsigned rank = tile.thread_rank();
  return cg::reduce(tile, rank < tile.meta_group_size() ? of_tile[rank] : 0.0F, cg::plus<float>());
}

/// Leaves the sum of the block's squares in of_block[number of the block].
__device__ void add_up(const cg::grid_group& grid, const float (&mine)[per_thread], float* of_block) {
  float squares = 0;
  for (const float value : mine) squares += value * value;
  const float sum = sum_of_block(cg::this_thread_block(), squares);
  if (threadIdx.x == 0) of_block[grid.block_rank()] = sum;
}

/// What each value is to be multiplied by, once all blocks have left their sums.
__device__ float factor(const cg::grid_group& grid, const float* of_block) {
  float sum = 0;
  for (unsigned i = threadIdx.x; i < grid.num_blocks(); i += threads) sum += of_block[i];
  return 1 / sqrtf(sum_of_block(cg::this_thread_block(), sum));
}

/// Value k of a thread is number k * grid.num_threads() + grid.thread_rank().
__device__ void load(const cg::grid_group& grid, const float* in, float (&mine)[per_thread]) {
  for (int k = 0; k < per_thread; ++k) mine[k] = in[k * grid.num_threads() + grid.thread_rank()];
}
__device__ void store(const cg::grid_group& grid, const float (&mine)[per_thread], float factor, float* out) {
  for (int k = 0; k < per_thread; ++k) out[k * grid.num_threads() + grid.thread_rank()] = mine[k] * factor;
}

__global__ void first_launch(const float* in, float* of_block) {
  const cg::grid_group grid = cg::this_grid();
  float mine[per_thread];
  load(grid, in, mine);
  add_up(grid, mine, of_block);
}
__global__ void second_launch(const float* in, const float* of_block, float* out) {
  const cg::grid_group grid = cg::this_grid();
  float mine[per_thread];
  load(grid, in, mine);
  store(grid, mine, factor(grid, of_block), out);
}

/// Both in one launch. The threads keep their values while they wait.
__global__ void one_launch(const float* in, float* of_block, float* out) {
  const cg::grid_group grid = cg::this_grid();
  float mine[per_thread];
  load(grid, in, mine);
  add_up(grid, mine, of_block);
  grid.sync();  // waits for all threads of all blocks
  store(grid, mine, factor(grid, of_block), out);
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
  const int at_once = gpu::resident_blocks(one_launch, threads);
  blocks = blocks == 0 ? at_once : std::min(blocks, at_once);

  const std::size_t count = std::size_t(blocks) * threads * per_thread;
  const std::vector<float> values = gpu::random_numbers(5, count);
  const gpu::DeviceArray<float> in(values);
  gpu::DeviceArray<float> of_block(blocks), by_two(count), by_one(count);
  const auto nothing_more = [&](cudaStream_t stream) {
    nothing<<<blocks, threads, 0, stream>>>();
    CUDA_CHECK(cudaGetLastError());
  };
  const auto in_two = [&](cudaStream_t stream) {
    first_launch<<<blocks, threads, 0, stream>>>(in.data(), of_block.data());
    CUDA_CHECK(cudaGetLastError());
    second_launch<<<blocks, threads, 0, stream>>>(in.data(), of_block.data(), by_two.data());
    CUDA_CHECK(cudaGetLastError());
  };
  const auto in_one = [&](cudaStream_t stream) {
    CUDA_CHECK(launch_cooperatively(one_launch, blocks, stream, in.data(), of_block.data(), by_one.data()));
  };
  for (gpu::DeviceArray<float>* array : {&of_block, &by_two, &by_one}) array->poison();
  in_two(nullptr);
  const std::vector<float> two = by_two.to_host();
  of_block.poison();
  in_one(nullptr);
  const std::vector<float> one = by_one.to_host();

  print("an empty kernel, launched by the host", time_of([&](cudaStream_t stream) {
          for (int i = 0; i < repeats; ++i) nothing_more(stream);
        }));
  print("an empty kernel, launched in a graph", time_in_graph(nothing_more));
  print("a barrier for the whole grid", time_of([&](cudaStream_t stream) {
          CUDA_CHECK(launch_cooperatively(only_barriers, blocks, stream, repeats));
        }));
  print("two launches: add up; load again and divide", time_in_graph(in_two));
  print("one launch: add up, wait, divide", time_in_graph(in_one));

  double squares = 0;
  for (const float value : values) squares += double(value) * value;
  int far = 0, different = 0;
  for (std::size_t i = 0; i < count; ++i) {
    far += !(std::abs(two[i] * std::sqrt(squares) - values[i]) <= 1e-5);
    different += one[i] != two[i];
  }
  const cudaError_t too_large =
      launch_cooperatively(one_launch, at_once + 1, nullptr, in.data(), of_block.data(), by_one.data());
  cudaGetLastError();  // forgets that error

  cookbook::Checks checks;
  checks.equal("values that are not right after two launches", far, 0);
  checks.equal("values that differ in one launch", different, 0);
  checks.equal("a grid with one block too many", std::string(cudaGetErrorString(too_large)),
               "too many blocks in cooperative launch");
  return checks.exit_code();
}
