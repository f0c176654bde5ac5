// Reduction on a GPU, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_reduction/cuda_reduction_bench.cu common/cookbook/*.cpp -lfmt -o cuda_reduction_bench
// Run:     cuda_reduction_bench [--large N] [--rounds N]

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
#include "fast_sum.cuh"
#include "reduce.cuh"

namespace {

struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

/// The limit: reads all values in the same manner, and does next to nothing with them.
__global__ void read_all(const float4* values, std::size_t fours, float* never) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x * 4 + threadIdx.x;
  float4 seen[4] = {};
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    if (i + u * blockDim.x < fours) seen[u] = __ldcs(values + i + u * blockDim.x);
  }
  float sum = 0;
#pragma unroll
  for (int u = 0; u < 4; ++u) sum += seen[u].x + seen[u].y + seen[u].z + seen[u].w;
  if (sum == 1e9F) *never = 1;  // cannot be, but the compiler does not know: it has to load
}

/// All ways to add up `count` floats, each with a result on the device.
class Ways {
 public:
  explicit Ways(int count) : count_(count), of_cub_(1), never_(1) {
    std::size_t bytes = 0;
    const float* none = nullptr;
    CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, none, of_cub_.data(), count_));
    scratch_ = std::make_unique<gpu::DeviceArray<char>>(bytes);
  }

  void read_only(const float* values, cudaStream_t stream) {
    const std::size_t fours = count_ / 4;
    const auto blocks = static_cast<unsigned>((fours + 4 * 512 - 1) / (4 * 512));
    read_all<<<blocks, 512, 0, stream>>>(reinterpret_cast<const float4*>(values), fours, never_.data());
    CUDA_CHECK(cudaGetLastError());
  }
  void lesson(const float* values, cudaStream_t stream) { lesson_.start(values, count_, stream); }
  void fast(const float* values, cudaStream_t stream) { fast_.start(values, count_, stream); }
  void cub(const float* values, cudaStream_t stream) {
    std::size_t bytes = scratch_->size();
    CUDA_CHECK(cub::DeviceReduce::Sum(scratch_->data(), bytes, values, of_cub_.data(), count_, stream));
  }

  void poison_results() {
    for (gpu::DeviceArray<float>* result : {&lesson_.result(), &fast_.result(), &of_cub_}) result->poison();
  }
  /// Of lesson, fast form and CUB.
  std::vector<float> results() {
    return {lesson_.result().to_host().front(), fast_.result().to_host().front(), of_cub_.to_host().front()};
  }

 private:
  int count_;
  gpu::DeviceArray<float> of_cub_, never_;
  Reduction<float, Add> lesson_{Add{}, 0, 8};
  FastSum fast_;
  std::unique_ptr<gpu::DeviceArray<char>> scratch_;
};

/// Compares the results of all ways with the exact one, and then measures them. With few values each sum is that of
/// another part of `values`, so that the caches do not have it.
void compare(cookbook::Checks& checks, const gpu::DeviceArray<float>& values, int count, int rounds) {
  Ways ways(count);
  double exact = 0, magnitude = 0;
  for (int i = 0; i < count; ++i) {
    const double value = gpu::random_number(4, i);
    exact += value;
    magnitude += std::abs(value);
  }
  gpu::DeviceArray<float> of_others(count);
  gpu::fill_random(of_others, 5);
  ways.poison_results();
  ways.lesson(values.data(), nullptr);
  ways.fast(values.data(), nullptr);
  ways.cub(values.data(), nullptr);
  const auto right = [&](float result) { return std::abs(result - exact) <= 1e-6 * magnitude; };
  int near = 0;
  for (const float result : ways.results()) near += right(result);
  checks.equal(fmt::format("sums of {} floats within 1e-6 of the sum of magnitudes", count), near, 3);

  // Other values in between, and a poisoned result: so the sum can be none that was left there.
  std::set<unsigned> bits;
  for (int run = 0; run < 20; ++run) {
    ways.fast(of_others.data(), nullptr);
    ways.poison_results();
    ways.fast(values.data(), nullptr);
    bits.insert(std::bit_cast<unsigned>(ways.results()[1]));
  }
  checks.that(fmt::format("the fast form's sum of {} floats is right after others", count), right(ways.results()[1]));
  checks.equal(fmt::format("different sums of the fast form for {} floats in 20 runs", count), bits.size(), 1U);

  const std::size_t parts = std::clamp<std::size_t>(values.size() / count, 1, 64);
  const double bytes = 1.0 * count * sizeof(float);
  const auto row = [&](const std::string& name, void (Ways::*way)(const float*, cudaStream_t)) {
    return gpu::graph_row(
        name, bytes,
        [&, way, part = std::size_t{0}](cudaStream_t stream) mutable {
          (ways.*way)(values.data() + part++ % parts * count, stream);
        },
        static_cast<int>(parts));
  };
  cookbook::Figures figures(fmt::format("sum of {} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.measure({row("read only", &Ways::read_only), row("a tree, last block to end", &Ways::lesson),
                   row("a tree, last block to start", &Ways::fast), row("cub::DeviceReduce", &Ways::cub)},
                  rounds);
  figures.percent_of("read only");
  figures.speedup_over("cub::DeviceReduce", "CUB");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int large = 1 << 28, rounds = 21;
  cookbook::Options options("What a sum costs on a GPU");
  options.add("large", large, "floats to add up in the second table", 1 << 20, 1 << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  gpu::DeviceArray<float> values(large);
  gpu::fill_random(values, 4);

  cookbook::Checks checks;
  compare(checks, values, 1 << 20, rounds);
  compare(checks, values, large, rounds);
  return checks.exit_code();
}
