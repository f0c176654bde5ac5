// Clusters
//
// Each row of a matrix is scaled so that the mean of its squares becomes 1. A row is too long for the shared memory of
// one block, so a block on its own has to load it twice: for the sum of its squares, and to scale it. A cluster is a
// group of blocks that run at the same time and can read each other's shared memory. Together its blocks have room for
// the row, and load it once. The program shows the time of both, beside a copy.
//
// Compile: nvcc -std=c++20 -O3 -arch=compute_90 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_clusters/cuda_clusters.cu common/cookbook/*.cpp -lfmt -o cuda_clusters
// Run:     cuda_clusters [--rows N] [--columns N]

#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <cuda/barrier>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "grid_sum.cuh"

namespace {

namespace cg = cooperative_groups;
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
  if (threadIdx.x == 0) init(&loaded, threads);
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

__global__ void copy(const float4* in, float4* out, int columns) {
  const std::size_t first = std::size_t(blockIdx.x) * (columns / 4);
  for (int i = threadIdx.x; i < columns / 4; i += threads) out[first + i] = in[first + i];
}

/// A grid with a cluster of so many blocks per row.
class ClusterLaunch {
 public:
  ClusterLaunch(int rows, int columns, int blocks) {
    shape_.id = cudaLaunchAttributeClusterDimension;
    shape_.val.clusterDim = {unsigned(blocks), 1, 1};
    config_.gridDim = dim3(rows * blocks);
    config_.blockDim = dim3(threads);
    config_.dynamicSmemBytes = columns / blocks * sizeof(float);
    config_.attrs = &shape_;
    config_.numAttrs = 1;
    CUDA_CHECK(
        cudaFuncSetAttribute(by_clusters, cudaFuncAttributeMaxDynamicSharedMemorySize, int(config_.dynamicSmemBytes)));
    CUDA_CHECK(cudaFuncSetAttribute(by_clusters, cudaFuncAttributeNonPortableClusterSizeAllowed, blocks > 8));
  }
  ClusterLaunch(const ClusterLaunch&) = delete;

  int at_once() const {
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, by_clusters, &config_));
    return clusters;
  }
  void start(const float4* in, float4* out, int columns) const {
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

  const std::vector<float> numbers = small_whole_numbers(std::size_t(rows) * columns);
  const std::vector<float> expected = on_host(numbers, columns);
  const gpu::DeviceArray<float> in(numbers);
  gpu::DeviceArray<float> out(numbers.size());
  const auto* from = reinterpret_cast<const float4*>(in.data());
  auto* to = reinterpret_cast<float4*>(out.data());
  int wrong = 0;
  const auto run = [&](const std::string& what, const std::vector<float>& result, auto start) {
    out.poison();
    gpu::EventTimer timer;
    double seconds = 1e9;
    for (int i = 0; i < 10; ++i) {
      timer.start();
      start();
      CUDA_CHECK(cudaGetLastError());
      seconds = std::min(seconds, timer.stop());
    }
    wrong += out.to_host() != result;
    cookbook::println("{:<44}{:7.3f} ms", what, seconds * 1e3);
  };

  run("copy, for comparison", numbers, [&] { copy<<<rows, threads>>>(from, to, columns); });
  run("a block per row, which loads it twice", expected, [&] { by_blocks<<<rows, threads>>>(from, to, columns); });
  for (const int blocks : {4, 8, 16}) {
    const ClusterLaunch launch(rows, columns, blocks);
    run(fmt::format("a cluster of {} blocks per row, {} at once", blocks, launch.at_once()), expected,
        [&] { launch.start(from, to, columns); });
  }

  cookbook::Checks checks;
  checks.equal("ways with another bit than the processor's", wrong, 0);
  return checks.exit_code();
}
