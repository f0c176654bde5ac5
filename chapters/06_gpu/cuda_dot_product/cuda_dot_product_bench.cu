// Dot product on a GPU, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_dot_product/cuda_dot_product_bench.cu common/cookbook/*.cpp -lcublas -lfmt -o cuda_dot_product_bench
// Run:     cuda_dot_product_bench [--large N] [--rounds N]

#include <cublas_v2.h>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cub/device/device_reduce.cuh>
#include <memory>
#include <set>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "fast_dot.cuh"
#include "map_reduce.cuh"

namespace {

struct Product {
  const float* x;
  const float* y;
  __host__ __device__ float operator()(std::size_t i) const { return x[i] * y[i]; }
};

struct Sum {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

/// The limit: reads two vectors, and does next to nothing with them.
__global__ void read_both(const float4* x, const float4* y, std::size_t fours, float* never) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x * 2 + threadIdx.x;
  float4 seen[4] = {};
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (i + u * blockDim.x < fours) {
      seen[2 * u] = __ldcs(x + i + u * blockDim.x);
      seen[2 * u + 1] = __ldcs(y + i + u * blockDim.x);
    }
  }
  float sum = 0;
#pragma unroll
  for (int u = 0; u < 4; ++u) sum += seen[u].x + seen[u].y + seen[u].z + seen[u].w;
  if (sum == 1e9F) *never = 1;  // cannot be, but the compiler does not know: it has to load
}

/// All ways to compute the dot product of vectors with `count` elements, each with a result on the device.
class Ways {
 public:
  explicit Ways(int count)
      : count_(count),
        blocks_(8 * gpu::multiprocessors()),
        of_cub_(1),
        of_cublas_(1),
        of_block_(blocks_),
        of_lesson_(1),
        never_(1),
        workspace_(std::size_t{32} << 20) {
    CUBLAS_CHECK(cublasCreate(&cublas_));
    CUBLAS_CHECK(cublasSetPointerMode(cublas_, CUBLAS_POINTER_MODE_DEVICE));
    std::size_t bytes = 0;
    CUDA_CHECK(reduce_by_cub(nullptr, bytes, nullptr, nullptr, nullptr));
    scratch_ = std::make_unique<gpu::DeviceArray<char>>(bytes);
  }
  ~Ways() { cublasDestroy(cublas_); }
  Ways(const Ways&) = delete;
  Ways& operator=(const Ways&) = delete;

  void read_only(const float* x, const float* y, cudaStream_t stream) {
    const std::size_t fours = count_ / 4;
    const auto grid = static_cast<unsigned>((fours + 2 * 512 - 1) / (2 * 512));
    read_both<<<grid, 512, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(y), fours,
                                        never_.data());
    CUDA_CHECK(cudaGetLastError());
  }
  void lesson(const float* x, const float* y, cudaStream_t stream) {
    map_and_reduce<<<blocks_, 256, 0, stream>>>(count_, Product{x, y}, Sum{}, 0.0F, of_block_.data());
    CUDA_CHECK(cudaGetLastError());
    map_and_reduce<<<1, 256, 0, stream>>>(blocks_, Element<float>{of_block_.data()}, Sum{}, 0.0F, of_lesson_.data());
    CUDA_CHECK(cudaGetLastError());
  }
  void fast(const float* x, const float* y, cudaStream_t stream) { fast_.start(x, y, count_, stream); }
  void cub(const float* x, const float* y, cudaStream_t stream) {
    std::size_t bytes = scratch_->size();
    CUDA_CHECK(reduce_by_cub(scratch_->data(), bytes, x, y, stream));
  }
  void cublas(const float* x, const float* y, cudaStream_t stream) {
    CUBLAS_CHECK(cublasSetStream(cublas_, stream));
    // Memory of our own, because cuBLAS must not allocate any while a graph is recorded.
    CUBLAS_CHECK(cublasSetWorkspace(cublas_, workspace_.data(), workspace_.size()));
    CUBLAS_CHECK(cublasSdot(cublas_, count_, x, 1, y, 1, of_cublas_.data()));
  }

  void poison_results() {
    for (gpu::DeviceArray<float>* result : {&of_lesson_, &fast_.result(), &of_cub_, &of_cublas_}) result->poison();
  }
  /// Of lesson, fast form, CUB and cuBLAS.
  std::vector<float> results() {
    return {of_lesson_.to_host().front(), fast_.result().to_host().front(), of_cub_.to_host().front(),
            of_cublas_.to_host().front()};
  }

 private:
  cudaError_t reduce_by_cub(void* scratch, std::size_t& bytes, const float* x, const float* y, cudaStream_t stream) {
    const auto products =
        thrust::make_transform_iterator(thrust::make_counting_iterator(std::size_t{0}), Product{x, y});
    return cub::DeviceReduce::Reduce(scratch, bytes, products, of_cub_.data(), count_, Sum{}, 0.0F, stream);
  }

  int count_, blocks_;  ///< blocks of the lesson's grid
  gpu::DeviceArray<float> of_cub_, of_cublas_, of_block_, of_lesson_, never_;
  gpu::DeviceArray<char> workspace_;
  FastDot fast_;
  std::unique_ptr<gpu::DeviceArray<char>> scratch_;
  cublasHandle_t cublas_ = nullptr;
};

/// Compares the results of all ways with the exact one, and then measures them. With small vectors each dot product is
/// that of another part of `x` and `y`, so that the caches do not have it.
void compare(cookbook::Checks& checks, const gpu::DeviceArray<float>& x, const gpu::DeviceArray<float>& y, int count,
             int rounds) {
  Ways ways(count);
  double exact = 0, magnitude = 0;
  for (int i = 0; i < count; ++i) {
    const double product = double{gpu::random_number(1, i)} * gpu::random_number(2, i);
    exact += product;
    magnitude += std::abs(product);
  }
  ways.poison_results();
  ways.lesson(x.data(), y.data(), nullptr);
  ways.fast(x.data(), y.data(), nullptr);
  ways.cub(x.data(), y.data(), nullptr);
  ways.cublas(x.data(), y.data(), nullptr);
  int near = 0;
  for (const float result : ways.results()) near += std::abs(result - exact) <= 1e-6 * magnitude;
  checks.equal(fmt::format("results of {} elements within 1e-6 of the sum of magnitudes", count), near, 4);

  std::set<unsigned> bits;
  for (int run = 0; run < 20; ++run) {
    ways.fast(x.data(), y.data(), nullptr);
    bits.insert(std::bit_cast<unsigned>(ways.results()[1]));
  }
  checks.equal(fmt::format("different results of the fast form for {} elements in 20 runs", count), bits.size(), 1U);

  const std::size_t parts = std::clamp<std::size_t>(x.size() / count, 1, 32);
  const double bytes = 2.0 * count * sizeof(float);
  const auto row = [&](const std::string& name, void (Ways::*way)(const float*, const float*, cudaStream_t)) {
    return gpu::graph_row(
        name, bytes,
        [&, way, part = std::size_t{0}](cudaStream_t stream) mutable {
          const std::size_t offset = part++ % parts * count;
          (ways.*way)(x.data() + offset, y.data() + offset, stream);
        },
        static_cast<int>(parts));
  };
  cookbook::Figures figures(fmt::format("dot product of {} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.measure(
      {row("read only", &Ways::read_only), row("lesson, two launches", &Ways::lesson),
       row("fast, one launch", &Ways::fast), row("cub::DeviceReduce", &Ways::cub), row("cublasSdot", &Ways::cublas)},
      rounds);
  figures.percent_of("read only");
  figures.speedup_over("cub::DeviceReduce", "CUB");
  figures.speedup_over("cublasSdot", "cuBLAS");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int large = 1 << 28, rounds = 21;
  cookbook::Options options("What a dot product costs on a GPU");
  options.add("large", large, "elements of each vector in the second table", 1 << 20, 1 << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  gpu::DeviceArray<float> x(large), y(large);
  gpu::fill_random(x, 1);
  gpu::fill_random(y, 2);

  cookbook::Checks checks;
  compare(checks, x, y, 1 << 20, rounds);
  compare(checks, x, y, large, rounds);
  return checks.exit_code();
}
