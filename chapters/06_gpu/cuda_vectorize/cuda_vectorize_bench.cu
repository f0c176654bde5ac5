// One function for processor and GPU, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_vectorize/cuda_vectorize_bench.cu common/cookbook/*.cpp -ltbb -lfmt -o cuda_vectorize_bench
// Run:     cuda_vectorize_bench [--count N] [--host-count N] [--rounds N]

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstring>
#include <cub/version.cuh>
#include <limits>
#include <string>
#if CUB_VERSION >= 200800  // CUDA 12.9
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#else
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#endif

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "four_per_thread.cuh"
#include "vectorize.cuh"

namespace {

struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

/// How many elements of the result are not the sum of the two random numbers.
std::size_t wrong_sums(const std::vector<float>& result) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto index = static_cast<unsigned>(i);
    wrong += result[i] != gpu::random_number(1, index) + gpu::random_number(2, index);
  }
  return wrong;
}

/// Arrays that stay on the device.
void compare_on_device(cookbook::Checks& checks, int count, int rounds) {
  gpu::DeviceArray<float> a(count), b(count), result(count);
  const int blocks = (count + 255) / 256;
  gpu::fill_random(a, 1);
  gpu::fill_random(b, 2);

  const auto copy = [&] {
    CUDA_CHECK(cudaMemcpyAsync(result.data(), a.data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
  };
  const auto one = [&] {
    apply<<<blocks, 256>>>(Add{}, a.data(), b.data(), result.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
  const auto four = [&] { start_four_per_thread(Add{}, a.data(), b.data(), result.data(), count); };
#if CUB_VERSION >= 200800
  const std::string library = "cub::DeviceTransform";
  const auto by_library = [&] {
    const auto inputs = cuda::std::make_tuple(static_cast<const float*>(a.data()), static_cast<const float*>(b.data()));
    CUDA_CHECK(cub::DeviceTransform::Transform(inputs, result.data(), count, Add{}));
  };
#else
  const std::string library = "thrust::transform";
  const auto by_library = [&] {
    thrust::transform(thrust::cuda::par_nosync, a.data(), a.data() + count, b.data(), result.data(), Add{});
  };
#endif
  const auto check = [&](const std::string& way, const auto& work) {
    result.poison();
    work();
    checks.equal("wrong sums on the device, " + way, wrong_sums(result.to_host()), 0U);
  };
  check("one float per thread", one);
  check("four floats per thread", four);
  check(library, by_library);
  const double bytes = 3.0 * count * sizeof(float);
  cookbook::Figures figures(fmt::format("sum of {} floats, on the device", count), cookbook::rate("GB/s", 1e9),
                            gpu::device());
  figures.measure({gpu::timed_row("copy, cudaMemcpy", bytes * 2 / 3, copy),
                   gpu::timed_row("lesson, one float per thread", bytes, one),
                   gpu::timed_row("four floats per thread", bytes, four), gpu::timed_row(library, bytes, by_library)},
                  rounds);
  figures.percent_of("copy, cudaMemcpy", "copy");
  figures.speedup_over(library);
  figures.print(checks);
}

/// Arrays on the host.
void compare_on_host(cookbook::Checks& checks, std::size_t count, int rounds) {
  std::vector<float> a(count), b(count), result(count);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    a[i] = gpu::random_number(1, static_cast<unsigned>(i));
    b[i] = gpu::random_number(2, static_cast<unsigned>(i));
  });
  const tbb::blocked_range<std::size_t> all(0, count);
  const auto copy = [&] {
    tbb::parallel_for(all, [&](const auto& part) {
      std::memcpy(result.data() + part.begin(), a.data() + part.begin(), part.size() * sizeof(float));
    });
  };
  const auto one_core = [&] {
    std::transform(std::execution::unseq, a.begin(), a.end(), b.begin(), result.begin(), Add{});
  };
  const auto on_cpu = [&] { apply_on_cpu(Add{}, a, b, result); };
  const auto scalar = [&] {
    tbb::parallel_for(all, [&](const auto& part) {
      for (std::size_t i = part.begin(); i != part.end(); ++i) {
        result[i] = Add{}(a[i], b[i]);
        asm volatile("");  // so that the compiler takes one element at a time
      }
    });
  };
  const auto on_gpu = [&] { apply_on_gpu(Add{}, a, b, result); };
  const auto check = [&](const std::string& way, const auto& work) {
    result.assign(count, std::numeric_limits<float>::quiet_NaN());
    work();
    checks.equal("wrong sums on the host, " + way, wrong_sums(result), 0U);
  };
  check("one core", one_core);
  check("all cores", on_cpu);
  check("oneTBB, scalar code", scalar);
  check("GPU", on_gpu);

  const double bytes = 3.0 * static_cast<double>(count) * sizeof(float);
  cookbook::Figures figures(fmt::format("sum of {} floats, on the host", count), cookbook::rate("GB/s", 1e9),
                            cookbook::machine() + "; " + gpu::device());
  figures.measure({{"copy, all cores", bytes * 2 / 3, copy},
                   {"one core", bytes, one_core},
                   {"target cpu, all cores", bytes, on_cpu},
                   {"oneTBB, scalar code", bytes, scalar},
                   {"target gpu, with copies", bytes, on_gpu}},
                  rounds);
  figures.percent_of("copy, all cores", "copy");
  figures.speedup_over("one core");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 28, rounds = 11;
  std::size_t host_count = 320'000'000;
  cookbook::Options options("What it costs to apply a function to all elements of two arrays");
  options.add("count", count, "elements of each array on the device", 1'000'000, 1 << 30);
  options.add("host-count", host_count, "elements of each array on the host", 1'000'000, 1 << 30);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  cookbook::require_memory(3.0 * static_cast<double>(host_count) * sizeof(float),
                           fmt::format("--host-count {}", host_count));

  cookbook::Checks checks;
  compare_on_device(checks, count, rounds);
  compare_on_host(checks, host_count, rounds);
  return checks.exit_code();
}
