// Arrays with operators on the device, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_device_array/cuda_device_array_bench.cu common/cookbook/*.cpp -lfmt -o cuda_device_array_bench
// Run:     cuda_device_array_bench [--count N] [--rounds N]

#include <thrust/device_vector.h>
#include <thrust/transform.h>

#include <cub/version.cuh>
#include <cuda/std/tuple>
#include <functional>
#include <string>
#include <vector>

#include "array.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#if CUB_VERSION >= 200800  // CUDA 12.9
#include <cub/device/device_transform.cuh>
#endif

namespace {

/// The obvious kernel: one element per thread.
template <typename Operand>
__global__ void evaluate_one(Operand expression, float* result, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) result[i] = expression[i];
}

/// 2x + 5y with the same rounding as the operators of Array.
struct LinearCombination {
  __device__ float operator()(float x, float y) const { return __fadd_rn(__fmul_rn(2, x), __fmul_rn(5, y)); }
};
struct TimesNumber {
  float number;
  __device__ float operator()(float x) const { return __fmul_rn(number, x); }
};

__global__ void count_wrong(const float* result, std::size_t count, unsigned long long* wrong) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned index = static_cast<unsigned>(i);
  const float expected = LinearCombination()(gpu::random_number(1, index), gpu::random_number(2, index));
  if (!(result[i] == expected)) atomicAdd(wrong, 1ULL);
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + 255) / 256); }

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28;
  int rounds = 21;
  cookbook::Options options("What it costs to compute 2 * a + 5 * b");
  options.add("count", count, "elements of each array", 1, std::size_t{1} << 32);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  gpu::DeviceArray<float> a(count), b(count), c(count);
  gpu::DeviceArray<unsigned long long> wrong(1);
  gpu::fill_random(a, 1);
  gpu::fill_random(b, 2);
  const Elements x{a.data(), count}, y{b.data(), count};
  const auto expression = combine<Plus>(combine<Times>(Number{2}, x), combine<Times>(Number{5}, y));

  // The two arrays that an array per operator needs as well, kept from run to run: no run allocates.
  gpu::DeviceArray<float> t(count), u(count);
  const auto per_operator = [&] {
    start_evaluation(combine<Times>(Number{2}, x), t.data(), count);
    start_evaluation(combine<Times>(Number{5}, y), u.data(), count);
    start_evaluation(combine<Plus>(Elements{t.data(), count}, Elements{u.data(), count}), c.data(), count);
  };
  const auto one_element_per_thread = [&] {
    evaluate_one<<<blocks_for(count), 256>>>(expression, c.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto one_pass = [&] { start_evaluation(expression, c.data(), count); };
  const auto by_thrust = [&] {
    thrust::transform(thrust::cuda::par_nosync, a.data(), a.data() + count, b.data(), c.data(), LinearCombination());
  };
  const auto thrust_per_operator = [&] {
    const auto policy = thrust::cuda::par_nosync;
    thrust::transform(policy, a.data(), a.data() + count, t.data(), TimesNumber{2});
    thrust::transform(policy, b.data(), b.data() + count, u.data(), TimesNumber{5});
    thrust::transform(policy, t.data(), t.data() + count, u.data(), c.data(), Plus());
  };

  std::vector<std::pair<std::string, std::function<void()>>> ways = {
      {"an array per operator", per_operator},
      {"an array per operator, by thrust::transform", thrust_per_operator},
      {"one pass, one element per thread", one_element_per_thread},
      {"one pass, four elements per thread", one_pass},
      {"one pass, thrust::transform", by_thrust}};
#if CUB_VERSION >= 200800
  const std::string library = "one pass, cub::DeviceTransform";
  ways.emplace_back(library, [&] {
    CUDA_CHECK(cub::DeviceTransform::Transform(
        cuda::std::make_tuple(static_cast<const float*>(a.data()), static_cast<const float*>(b.data())), c.data(),
        count, LinearCombination()));
  });
#else
  const std::string library = "one pass, thrust::transform";
#endif

  cookbook::Checks checks;
  const double bytes = static_cast<double>(count) * sizeof(float);
  std::vector<cookbook::Benchmark> rows = {gpu::timed_row("copy", 2 * bytes, [&] {
    CUDA_CHECK(cudaMemcpyAsync(c.data(), a.data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
  })};
  for (const auto& [name, work] : ways) {
    c.poison();
    wrong.zero();
    work();
    count_wrong<<<blocks_for(count), 256>>>(c.data(), count, wrong.data());
    CUDA_CHECK(cudaGetLastError());
    checks.equal("wrong results: " + name, wrong.to_host()[0], 0U);
    rows.push_back(gpu::timed_row(name, 3 * bytes, work));  // what the job needs: a and b read, c written
  }

  cookbook::Figures figures(fmt::format("2 * a + 5 * b, {} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.percent_of("copy");
  figures.speedup_over(library, library.ends_with("DeviceTransform") ? "CUB" : "Thrust");
  figures.measure(rows, rounds);
  figures.print(checks);
  return checks.exit_code();
}
