// Vector addition on a GPU, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_vector_add/cuda_vector_add_bench.cu common/cookbook/*.cpp -lfmt -o cuda_vector_add_bench
// Run:     cuda_vector_add_bench [--count N] [--rounds N]

#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "four_per_thread.cuh"
#include "reference.cuh"

namespace {

constexpr unsigned block = 256;

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + block - 1) / block); }

/// The kernel of cuda_vector_add.cu, for more elements than an int can count.
__global__ void add(const float* a, const float* b, float* sum, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

/// Adds to `*right` how many sums are those of the numbers that a and b were filled with.
__global__ void count_right(const float* sum, std::size_t count, unsigned long long* right) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto index = static_cast<unsigned>(i);
  const bool is_right = i < count && sum[i] == gpu::random_number(1, index) + gpu::random_number(2, index);
  const int in_block = __syncthreads_count(is_right);
  if (threadIdx.x == 0) atomicAdd(right, static_cast<unsigned long long>(in_block));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28;
  int rounds = 21;
  cookbook::Options options("How fast a GPU adds two vectors");
  options.add("count", count, "elements of each vector", 1, 1LL << 36);
  options.add("rounds", rounds, "measured runs of each kernel", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  gpu::DeviceArray<float> a(count), b(count), sum(count);
  gpu::DeviceArray<unsigned long long> right(1);
  gpu::fill_random(a, 1);
  gpu::fill_random(b, 2);

  const auto one_per_thread = [&] {
    add<<<blocks_for(count), block>>>(a.data(), b.data(), sum.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto four_per_thread = [&] {
    start_four_per_thread(cuda::std::plus<float>{}, a.data(), b.data(), sum.data(), count);
  };
  const auto by_library = [&] { reference::start_add(a.data(), b.data(), sum.data(), count); };
  const auto copy = [&] {
    CUDA_CHECK(cudaMemcpyAsync(sum.data(), a.data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
  };

  cookbook::Checks checks;
  const auto right_sums_of = [&](auto start_add) {
    sum.poison();
    right.zero();
    start_add();
    count_right<<<blocks_for(count), block>>>(sum.data(), count, right.data());
    CUDA_CHECK(cudaGetLastError());
    return right.to_host()[0];
  };
  checks.equal("right sums, one element per thread", right_sums_of(one_per_thread), count);
  checks.equal("right sums, four elements per thread", right_sums_of(four_per_thread), count);
  checks.equal(std::string("right sums, ") + reference::name, right_sums_of(by_library), count);

  const double bytes = static_cast<double>(count) * sizeof(float);
  cookbook::Figures figures(fmt::format("{} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.percent_of("copy, read and written", "copy");
  figures.speedup_over(reference::name, "library");
  figures.measure({gpu::timed_row("copy, read and written", 2 * bytes, copy),
                   gpu::timed_row("one element per thread", 3 * bytes, one_per_thread),
                   gpu::timed_row("four elements per thread", 3 * bytes, four_per_thread),
                   gpu::timed_row(reference::name, 3 * bytes, by_library)},
                  rounds);
  figures.print(checks);
  return checks.exit_code();
}
