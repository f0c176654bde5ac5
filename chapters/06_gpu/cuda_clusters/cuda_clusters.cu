// Clusters
//
// Each row of a matrix is scaled so that the mean of its squares becomes 1. A row is too long for the shared memory of
// one block, so a block on its own has to load it twice, or what it cannot keep of it: for the sum of its squares, and
// to scale it. A cluster is a group of blocks that run at the same time and can read and write each other's shared
// memory. Together its blocks have room for the row, and load it once. The program shows what each way moves, how long
// that would take at the rate of a copy, and how long it takes.
//
// Compile: nvcc -std=c++20 -O3 -arch=compute_90 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_clusters/cuda_clusters.cu common/cookbook/*.cpp -lfmt -o cuda_clusters
// Run:     cuda_clusters [--blocks N] [--rows N] [--columns N]

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

/// One cluster per row. Each of its blocks keeps a part of the row in its shared memory.
__global__ void by_clusters(const float4* in, float4* out, int columns) {
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

/// Launches by_clusters with clusters of so many blocks, each of which keeps an equal part of a row.
class ClusterLaunch {
 public:
  ClusterLaunch(int columns, int blocks) {
    shape_.id = cudaLaunchAttributeClusterDimension;
    shape_.val.clusterDim = {unsigned(blocks), 1, 1};
    config_.gridDim = dim3(blocks);
    config_.blockDim = dim3(threads);
    config_.dynamicSmemBytes = columns / blocks * sizeof(float);
    config_.attrs = &shape_;
    config_.numAttrs = 1;
    CUDA_CHECK(
        cudaFuncSetAttribute(by_clusters, cudaFuncAttributeMaxDynamicSharedMemorySize, int(config_.dynamicSmemBytes)));
    CUDA_CHECK(cudaFuncSetAttribute(by_clusters, cudaFuncAttributeNonPortableClusterSizeAllowed, blocks > 8));
  }
  ClusterLaunch(const ClusterLaunch&) = delete;

  /// How many of the clusters have room on the device at the same time; 0 where it has none of this size.
  int at_once() const {
    int clusters = 0;
    const cudaError_t result = cudaOccupancyMaxActiveClusters(&clusters, by_clusters, &config_);
    if (result == cudaErrorInvalidClusterSize) {
      cudaGetLastError();  // so that no later check finds this error
      return 0;
    }
    CUDA_CHECK(result);
    return clusters;
  }
  void start(int rows, const float4* in, float4* out, int columns) {
    config_.gridDim = dim3(rows * shape_.val.clusterDim.x);  // blocks
    CUDA_CHECK(cudaLaunchKernelEx(&config_, by_clusters, in, out, columns));
  }

 private:
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
  int blocks = 8, rows = 1024, columns = 131'072;
  cookbook::Options options("Let blocks of a GPU share their shared memory");
  options.add("blocks", blocks, "blocks of a cluster", 1, 16);
  options.add("rows", rows, "rows of the matrix", 1, 16'384);
  options.add("columns", columns, "numbers per row; rounded up to a multiple of four times the blocks", 64, 131'072);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  int device = 0, major = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 9) {
    cookbook::print_error("skipped, clusters need a device of compute capability 9.0 or newer");
    return gpu::skipped;
  }
  columns = (columns + 4 * blocks - 1) / (4 * blocks) * 4 * blocks;  // so that equal parts begin at a multiple of 16 B
  int shared = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const int most = shared - 1024;  // bytes that a block can keep beside its barrier and sums
  const int part = columns / blocks * int(sizeof(float));
  if (part > most) {
    cookbook::print_error(
        fmt::format("--blocks {}: each would have to keep {} bytes, and has room for {}", blocks, part, most));
    return 2;
  }
  ClusterLaunch launch(columns, blocks);
  const int clusters = launch.at_once();
  if (clusters == 0) {
    cookbook::print_error(fmt::format("skipped, this device has no room for a cluster of {} blocks", blocks));
    return gpu::skipped;
  }

  const std::vector<float> numbers = small_whole_numbers(std::size_t(rows) * columns);
  const gpu::DeviceArray<float> in(numbers), expected(on_host(numbers, columns));
  gpu::DeviceArray<float> out(numbers.size());
  gpu::DeviceArray<int> different(1);
  const auto* from = reinterpret_cast<const float4*>(in.data());
  auto* to = reinterpret_cast<float4*>(out.data());
  int right = 0;
  double copy_rate = 0;  // bytes per second
  cookbook::println("{:<44}{:>8} {:>15} {:>12}", "", "moves", "at copy's rate", "takes");
  const auto run = [&](const std::string& what, double bytes, const gpu::DeviceArray<float>& result, auto start) {
    out.poison();
    const double seconds = fastest_alone([&] {
      start();
      CUDA_CHECK(cudaGetLastError());
    });
    different.zero();
    count_different<<<1024, 256>>>(out.data(), result.data(), out.size(), different.data());
    CUDA_CHECK(cudaGetLastError());
    right += different.to_host()[0] == 0;
    if (copy_rate == 0) copy_rate = bytes / seconds;
    cookbook::println("{:<44}{:5.2f} GB {:12.3f} ms {:9.3f} ms", what, bytes / 1e9, bytes / copy_rate * 1e3,
                      seconds * 1e3);
  };

  const std::size_t fours = numbers.size() / 4;
  const double once = double(numbers.size()) * sizeof(float);  // bytes to load the matrix, or to store it
  run("a copy: loads and stores once", 2 * once, in,
      [&] { copy<<<(fours + 4 * threads - 1) / (4 * threads), threads>>>(from, to, fours); });
  run("a block per row, loads it twice", 3 * once, expected, [&] { by_blocks<<<rows, threads>>>(from, to, columns); });
  const int kept = std::min(columns / 4, most / int(sizeof(float4)));
  const int bytes_kept = kept * int(sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(by_blocks_that_keep, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_kept));
  run(fmt::format("a block per row, keeps {:.0f} % of it", 400.0 * kept / columns),
      3 * once - double(rows) * bytes_kept, expected,
      [&] { by_blocks_that_keep<<<rows, threads, bytes_kept>>>(from, to, columns, kept); });
  run(fmt::format("a cluster of {} blocks per row, keeps it all", blocks), 2 * once, expected,
      [&] { launch.start(rows, from, to, columns); });
  cookbook::println("the device has room for {} such clusters at once", clusters);

  cookbook::Checks checks;
  checks.equal("ways with the processor's numbers", right, 4);
  return checks.exit_code();
}
