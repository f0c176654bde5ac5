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

/// Elements of an array that begins at a multiple of 16 bytes, which the compiler is told here. So it joins the loads
/// of four neighbours.
struct AlignedElements {
  const float* values;
  __device__ float operator[](std::size_t i) const {
    return static_cast<const float*>(__builtin_assume_aligned(values, 16))[i];
  }
};

/// The fast form of evaluate(): four neighbouring elements per thread, in loads and a store of 16 bytes.
template <typename Operand>
__global__ void evaluate_fours(Operand expression, float* result, std::size_t count) {
  const std::size_t first = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (first + 4 <= count) {
    float four[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) four[k] = expression[first + k];
    __stcs(reinterpret_cast<float4*>(result + first), make_float4(four[0], four[1], four[2], four[3]));
  } else {
    for (std::size_t i = first; i < count; ++i) result[i] = expression[i];
  }
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

unsigned blocks_for(std::size_t threads, unsigned per_block = 256) {
  return static_cast<unsigned>((threads + per_block - 1) / per_block);
}

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
    evaluate<<<blocks_for(count), 256>>>(combine<Times>(Number{2}, x), t.data(), count);
    evaluate<<<blocks_for(count), 256>>>(combine<Times>(Number{5}, y), u.data(), count);
    evaluate<<<blocks_for(count), 256>>>(combine<Plus>(Elements{t.data(), count}, Elements{u.data(), count}), c.data(),
                                         count);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto one_pass = [&] {
    evaluate<<<blocks_for(count), 256>>>(expression, c.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
  using Product = Expression<Times, Number, AlignedElements>;
  const Expression<Plus, Product, Product> aligned{
      {Number{2}, {a.data()}, count}, {Number{5}, {b.data()}, count}, count};
  const auto one_pass_of_fours = [&] {
    evaluate_fours<<<blocks_for((count + 3) / 4, 768), 768>>>(aligned, c.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
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
      {"one pass, one element per thread", one_pass},
      {"one pass, four elements per thread", one_pass_of_fours},
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

  // One of the products alone, which reads one array and writes one: how fast are the parts of "an array per operator"?
  rows.push_back(gpu::timed_row("2 * a alone, one element per thread", 2 * bytes, [&] {
    evaluate<<<blocks_for(count), 256>>>(combine<Times>(Number{2}, x), t.data(), count);
    CUDA_CHECK(cudaGetLastError());
  }));
  rows.push_back(gpu::timed_row("2 * a alone, four elements per thread", 2 * bytes, [&] {
    evaluate_fours<<<blocks_for((count + 3) / 4, 768), 768>>>(
        Expression<Times, Number, AlignedElements>{Number{2}, {a.data()}, count}, t.data(), count);
    CUDA_CHECK(cudaGetLastError());
  }));

  cookbook::Figures figures(fmt::format("2 * a + 5 * b, {} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.percent_of("copy");
  figures.speedup_over(library, library.ends_with("DeviceTransform") ? "CUB" : "Thrust");
  figures.measure(rows, rounds);
  figures.print(checks);
  return checks.exit_code();
}
