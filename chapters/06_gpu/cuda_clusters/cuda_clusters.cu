// Clusters
//
// Each row of a matrix is scaled so that the mean of its squares becomes 1. A row is too long for the shared memory of
// one block, so a block on its own has to load it twice: for the sum of its squares, and to scale it. A cluster is a
// group of blocks that run at the same time and can read and write each other's shared memory. Together its blocks have
// room for the row, and load it once. The program shows the time of both, beside a copy.
//
// Compile: nvcc -std=c++20 -O3 -arch=compute_90 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_clusters/cuda_clusters.cu common/cookbook/*.cpp -lfmt -o cuda_clusters
// Run:     cuda_clusters [--rows N] [--columns N]

#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <cuda/barrier>
#include <cuda/ptx>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "grid_sum.cuh"

namespace {

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int threads = grid_sum::threads;  // of a block

__device__ float squares_of(float4 v) { return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }
__device__ float4 scaled(float4 v, float factor) { return {v.x * factor, v.y * factor, v.z * factor, v.w * factor}; }
__host__ __device__ float factor_for(float squares, int columns) { return 1 / std::sqrt(squares / columns); }

/// One block per row, which is loaded twice.
__global__ void by_blocks(const float4* in, float4* out, int columns) {
  const int count = columns / 4;
  const std::size_t first = std::size_t(blockIdx.x) * count;
  float mine = 0;
  for (int i = threadIdx.x; i < count; i += threads) mine += squares_of(in[first + i]);
  mine = grid_sum::block_sum(mine);
  __shared__ float squares;
  if (threadIdx.x == 0) squares = mine;
  __syncthreads();
  const float factor = factor_for(squares, columns);
  for (int i = threadIdx.x; i < count; i += threads) out[first + i] = scaled(in[first + i], factor);
}

/// Calls function(i, row[i]) for this thread's share of the fours from `begin` to `end`. Eight loads are under way
/// before the first is used: with one block per multiprocessor, one load per thread would not keep the memory busy.
template <typename Function>
__device__ void for_each_four(const float4* row, int begin, int end, Function function) {
  constexpr int in_flight = 8;
  for (int i = begin + threadIdx.x; i < end; i += in_flight * threads) {
    float4 loaded[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (i + k * threads < end) loaded[k] = row[i + k * threads];
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (i + k * threads < end) function(i + k * threads, loaded[k]);
    }
  }
}

/// One block per row, which keeps the first `kept` fours of it in its shared memory and loads only the others twice.
__global__ void by_blocks_that_keep(const float4* in, float4* out, int columns, int kept) {
  extern __shared__ float4 part[];
  const int count = columns / 4;
  in += std::size_t(blockIdx.x) * count, out += std::size_t(blockIdx.x) * count;
  float mine = 0;
  for_each_four(in, 0, kept, [&](int i, float4 four) { part[i] = four, mine += squares_of(four); });
  for_each_four(in, kept, count, [&](int, float4 four) { mine += squares_of(four); });
  mine = grid_sum::block_sum(mine);
  __shared__ float squares;
  if (threadIdx.x == 0) squares = mine;
  __syncthreads();
  const float factor = factor_for(squares, columns);
  for_each_four(in, kept, count, [&](int i, float4 four) { out[i] = scaled(four, factor); });
  for (int i = threadIdx.x; i < kept; i += threads) out[i] = scaled(part[i], factor);
}

/// One cluster per row. Each of its blocks keeps a part of the row in its shared memory.
__global__ void by_clusters(const float4* in, float4* out, int columns, int) {
  extern __shared__ float4 part[];
  __shared__ alignas(Barrier) char memory_of_barrier[sizeof(Barrier)];
  __shared__ float squares;
  Barrier& loaded = *reinterpret_cast<Barrier*>(memory_of_barrier);
  const cg::cluster_group cluster = cg::this_cluster();
  const int blocks = cluster.num_blocks(), count = columns / 4 / blocks, bytes = count * sizeof(float4);
  const std::size_t first = std::size_t(blockIdx.x) * count;  // the blocks of a cluster have consecutive numbers

  // The copy runs by itself, and the barrier opens when all threads and all bytes have arrived.
  if (threadIdx.x == 0) {
    init(&loaded, threads);
    ptx::fence_proxy_async(ptx::space_shared);  // the unit that copies sees the new barrier, too
  }
  __syncthreads();
  cuda::memcpy_async(cg::this_thread_block(), part, in + first, cuda::aligned_size_t<16>(bytes), loaded);
  loaded.arrive_and_wait();

  float mine = 0;
  for (int i = threadIdx.x; i < count; i += threads) mine += squares_of(part[i]);
  mine = grid_sum::block_sum(mine);
  if (threadIdx.x == 0) squares = mine;
  cluster.sync();  // all blocks have their sums
  float all = 0;
  for (int block = 0; block < blocks; ++block) all += *cluster.map_shared_rank(&squares, block);
  cluster.sync();  // a block may not end while another one reads its sum
  const float factor = factor_for(all, columns);
  for (int i = threadIdx.x; i < count; i += threads) out[first + i] = scaled(part[i], factor);
}

/// As many clusters as run at once, each for several rows. While it works on one row, the copy of the next is under
/// way.
__global__ void by_clusters_ahead(const float4* in, float4* out, int columns, int rows) {
  extern __shared__ float4 parts[];  // two
  __shared__ alignas(Barrier) char memory_of_barriers[2 * sizeof(Barrier)];
  __shared__ float squares[2];
  Barrier* const loaded = reinterpret_cast<Barrier*>(memory_of_barriers);
  const cg::cluster_group cluster = cg::this_cluster();
  const int blocks = cluster.num_blocks(), count = columns / 4 / blocks, clusters = gridDim.x / blocks;
  const auto first_of = [&](int row) { return (std::size_t(row) * blocks + cluster.block_rank()) * count; };
  const auto load = [&](int row, int which) {
    cuda::memcpy_async(cg::this_thread_block(), parts + which * count, in + first_of(row),
                       cuda::aligned_size_t<16>(count * sizeof(float4)), loaded[which]);
  };

  if (threadIdx.x < 2) {
    init(loaded + threadIdx.x, threads);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  int which = 0;
  load(blockIdx.x / blocks, which);
  for (int row = blockIdx.x / blocks; row < rows; row += clusters, which = 1 - which) {
    if (row + clusters < rows) load(row + clusters, 1 - which);
    loaded[which].arrive_and_wait();
    const float4* const part = parts + which * count;
    float mine = 0;
    for (int i = threadIdx.x; i < count; i += threads) mine += squares_of(part[i]);
    mine = grid_sum::block_sum(mine);
    if (threadIdx.x == 0) squares[which] = mine;
    cluster.sync();
    float all = 0;
    for (int block = 0; block < blocks; ++block) all += *cluster.map_shared_rank(&squares[which], block);
    const float factor = factor_for(all, columns);
    for (int i = threadIdx.x; i < count; i += threads) out[first_of(row) + i] = scaled(part[i], factor);
    __syncthreads();  // from now on the part may be overwritten
  }
  cluster.sync();
}

/// For comparison: four numbers per access, four accesses per thread.
__global__ void copy(const float4* in, float4* out, std::size_t fours) {
  const std::size_t first = std::size_t(blockIdx.x) * 4 * threads + threadIdx.x;
  float4 four[4];
  for (int k = 0; k < 4; ++k) four[k] = first + k * threads < fours ? in[first + k * threads] : float4{};
  for (int k = 0; k < 4; ++k) {
    if (first + k * threads < fours) out[first + k * threads] = four[k];
  }
}

__global__ void count_different(const float* a, const float* b, std::size_t count, int* different) {
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    if (a[i] != b[i]) atomicAdd(different, 1);
  }
}

using Kernel = void (*)(const float4* in, float4* out, int columns, int rows);

/// A launch with clusters of so many blocks, whose shared memory has room for so many parts of a row.
class ClusterLaunch {
 public:
  ClusterLaunch(Kernel kernel, int columns, int blocks, int parts) : kernel_(kernel) {
    shape_.id = cudaLaunchAttributeClusterDimension;
    shape_.val.clusterDim = {unsigned(blocks), 1, 1};
    config_.gridDim = dim3(blocks);
    config_.blockDim = dim3(threads);
    config_.dynamicSmemBytes = parts * columns / blocks * sizeof(float);
    config_.attrs = &shape_;
    config_.numAttrs = 1;
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, int(config_.dynamicSmemBytes)));
    CUDA_CHECK(cudaFuncSetAttribute(kernel_, cudaFuncAttributeNonPortableClusterSizeAllowed, blocks > 8));
  }
  ClusterLaunch(const ClusterLaunch&) = delete;

  /// How many of the clusters have room on the device at the same time; 0 where it has none of this size.
  int at_once() const {
    int clusters = 0;
    const cudaError_t result = cudaOccupancyMaxActiveClusters(&clusters, kernel_, &config_);
    if (result == cudaErrorInvalidClusterSize) {
      cudaGetLastError();  // so that no later check finds this error
      return 0;
    }
    CUDA_CHECK(result);
    return clusters;
  }
  void start(int clusters, const float4* in, float4* out, int columns, int rows) {
    config_.gridDim = dim3(clusters * shape_.val.clusterDim.x);
    CUDA_CHECK(cudaLaunchKernelEx(&config_, kernel_, in, out, columns, rows));
  }

 private:
  Kernel kernel_;
  cudaLaunchAttribute shape_ = {};
  cudaLaunchConfig_t config_ = {};
};

/// Rows whose numbers are whole, from -8 to 7. So the sums of their squares are exact, and no order of the additions
/// changes a bit.
std::vector<float> small_whole_numbers(std::size_t count) {
  std::vector<float> numbers = gpu::random_numbers(6, count);
  for (float& number : numbers) number = std::floor(8 * number);
  return numbers;
}

std::vector<float> on_host(const std::vector<float>& in, int columns) {
  std::vector<float> out(in.size());
  for (std::size_t row = 0; row < in.size(); row += columns) {
    float squares = 0;
    for (std::size_t i = row; i < row + columns; ++i) squares += in[i] * in[i];
    for (std::size_t i = row; i < row + columns; ++i) out[i] = in[i] * factor_for(squares, columns);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 1024, columns = 131'072;
  cookbook::Options options("Let blocks of a GPU share their shared memory");
  options.add("rows", rows, "rows of the matrix", 1, 16'384);
  options.add("columns", columns, "numbers per row; rounded up to a multiple of 64", 64, 131'072);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  int device = 0, major = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 9) {
    cookbook::print_error("skipped, clusters need a device of compute capability 9.0 or newer");
    return gpu::skipped;
  }
  columns = (columns + 63) / 64 * 64;
  int shared = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (shared < columns + 1024) {  // bytes: a quarter of a row, and what the barriers and the sums take
    cookbook::print_error("skipped, four blocks of this device have no room for a row: try fewer --columns");
    return gpu::skipped;
  }

  const std::vector<float> numbers = small_whole_numbers(std::size_t(rows) * columns);
  const gpu::DeviceArray<float> in(numbers), expected(on_host(numbers, columns));
  gpu::DeviceArray<float> out(numbers.size());
  gpu::DeviceArray<int> different(1);
  const auto* from = reinterpret_cast<const float4*>(in.data());
  auto* to = reinterpret_cast<float4*>(out.data());
  int wrong = 0;
  const auto run = [&](const std::string& what, const gpu::DeviceArray<float>& result, auto start) {
    out.poison();
    const double seconds = fastest_alone([&] {
      start();
      CUDA_CHECK(cudaGetLastError());
    });
    different.zero();
    count_different<<<1024, 256>>>(out.data(), result.data(), out.size(), different.data());
    CUDA_CHECK(cudaGetLastError());
    wrong += different.to_host()[0] != 0;
    cookbook::println("{:<50}{:7.3f} ms", what, seconds * 1e3);
  };

  const std::size_t fours = numbers.size() / 4;
  run("copy, for comparison", in,
      [&] { copy<<<(fours + 4 * threads - 1) / (4 * threads), threads>>>(from, to, fours); });
  run("one block per row, which loads it twice", expected, [&] { by_blocks<<<rows, threads>>>(from, to, columns); });
  const int kept = std::min(columns / 4, (shared - 1024) / int(sizeof(float4)));
  const int bytes_kept = kept * int(sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(by_blocks_that_keep, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_kept));
  run("one block per row, which keeps what it can", expected,
      [&] { by_blocks_that_keep<<<rows, threads, bytes_kept>>>(from, to, columns, kept); });
  for (const int blocks : {4, 8, 16}) {
    ClusterLaunch launch(by_clusters, columns, blocks, 1);
    const int clusters = launch.at_once();
    if (clusters == 0) continue;  // a small device, or a part of one
    run(fmt::format("clusters of {} blocks, {} at once", blocks, clusters), expected,
        [&] { launch.start(rows, from, to, columns, rows); });
  }
  for (const int blocks : {8, 16}) {
    ClusterLaunch launch(by_clusters_ahead, columns, blocks, 2);
    const int clusters = std::min(rows, launch.at_once());
    if (clusters == 0) continue;
    run(fmt::format("clusters of {} blocks, {} at once, loading ahead", blocks, clusters), expected,
        [&] { launch.start(clusters, from, to, columns, rows); });
  }

  cookbook::Checks checks;
  checks.equal("ways with another number than the processor's", wrong, 0);
  return checks.exit_code();
}
