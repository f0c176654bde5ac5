// Changing an array in place, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_affine_product/cuda_affine_product_bench.cu common/cookbook/*.cpp -lfmt -o cuda_affine_product_bench
// Run:     cuda_affine_product_bench [--count N] [--largest N] [--rounds N]

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <cmath>
#include <cub/version.cuh>
#include <cuda/std/tuple>
#include <functional>
#include <string>
#include <vector>

#include "affine_product.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "four_per_thread.cuh"
#if CUB_VERSION >= 200800  // CUDA 12.9
#include <cub/device/device_transform.cuh>
#endif

namespace {

struct Formula {
  __host__ __device__ float operator()(float a, float b) const { return affine_product(a, b); }
};

/// Counts the results that are not those of the formula in double precision, but for rounding.
__global__ void count_wrong(const float* a, std::size_t count, unsigned long long* wrong) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double x = gpu::random_number(1, static_cast<unsigned>(i)), y = gpu::random_number(2, static_cast<unsigned>(i));
  const double exact = (x * 10 + 2) * ((y + 2) * 10 - 5) * 5;
  if (!(fabs(a[i] - exact) < 0.001)) atomicAdd(wrong, 1ULL);
}

/// What a kernel alone reaches, in arrays that no cache holds.
void measure_kernels(std::size_t count, int rounds, cookbook::Checks& checks) {
  gpu::DeviceArray<float> original(count), a(count), b(count);
  gpu::DeviceArray<float> other(std::size_t{1} << 26);  // 256 MiB, more than a cache holds
  gpu::DeviceArray<unsigned long long> wrong(1);
  gpu::fill_random(original, 1);
  gpu::fill_random(b, 2);
  const auto restore = [&] {
    CUDA_CHECK(cudaMemcpyAsync(a.data(), original.data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
  };

  // The kernels work in place, so a has to be restored before each run; `other` then takes its place in the caches.
  const auto row = [&](const std::string& name, double arrays, std::function<void()> work) {
    return cookbook::Benchmark(name, arrays * static_cast<double>(count) * sizeof(float), [&, work] {
      restore();
      other.poison();
      gpu::EventTimer timer;
      timer.start();
      work();
      return timer.stop();
    });
  };
  const auto by_thrust = [&] {
    thrust::transform(thrust::cuda::par_nosync, a.data(), a.data() + count, b.data(), a.data(), Formula());
  };
  std::vector<std::pair<std::string, std::function<void()>>> ways = {
      {"one element per thread", [&] { start_change(a.data(), b.data(), count); }},
      {"four elements per thread", [&] { start_four_per_thread(Formula{}, a.data(), b.data(), a.data(), count); }},
      {"thrust::transform", by_thrust}};
#if CUB_VERSION >= 200800
  const std::string library = "cub::DeviceTransform";
  ways.emplace_back(library, [&] {
    CUDA_CHECK(cub::DeviceTransform::Transform(
        cuda::std::make_tuple(static_cast<const float*>(a.data()), static_cast<const float*>(b.data())), a.data(),
        count, Formula()));
  });
#else
  const std::string library = "thrust::transform";
#endif

  // A copy within the device: reads one array, writes one.
  gpu::DeviceArray<float> target(count);
  std::vector<cookbook::Benchmark> rows = {row("copy", 2, [&] {
    CUDA_CHECK(cudaMemcpyAsync(target.data(), a.data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
  })};
  for (const auto& [name, work] : ways) {
    restore();
    wrong.zero();
    work();
    count_wrong<<<static_cast<unsigned>((count + 255) / 256), 256>>>(a.data(), count, wrong.data());
    CUDA_CHECK(cudaGetLastError());
    checks.equal("wrong results of " + name, wrong.to_host()[0], 0U);
    rows.push_back(row(name, 3, work));
  }

  cookbook::Figures figures(fmt::format("{} floats in place", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.percent_of("copy");
  figures.speedup_over(library, library.starts_with("cub") ? "CUB" : "Thrust");
  figures.measure(rows, rounds);
  figures.print(checks);
}

/// What a call costs whose data is on the host.
void measure_calls(std::size_t count, int rounds, cookbook::Checks& checks) {
  const std::vector<float> original = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
  std::vector<float> a(count);
  gpu::DeviceArray<float> device_a(count), device_b(count);
  const std::size_t bytes = count * sizeof(float);
  const auto by_device = [&] {
    a = original;
    gpu::EventTimer timer;
    timer.start();
    CUDA_CHECK(cudaMemcpy(device_a.data(), a.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b.data(), b.data(), bytes, cudaMemcpyHostToDevice));
    start_change(device_a.data(), device_b.data(), count);
    CUDA_CHECK(cudaMemcpy(a.data(), device_a.data(), bytes, cudaMemcpyDeviceToHost));
    return timer.stop();
  };
  const auto by_processor = [&] {
    a = original;
    const cookbook::Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) a[i] = affine_product(a[i], b[i]);
    cookbook::do_not_optimize(a.data());
    return watch.seconds();
  };

  by_processor();
  const std::vector<float> expected = a;
  by_device();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += !(std::abs(a[i] - expected[i]) < 0.001F);
  checks.equal(fmt::format("wrong results of {} elements from the host", count), wrong, 0U);

  cookbook::Figures figures(fmt::format("{} floats that are on the host", count), cookbook::cost("ms", 1e-3),
                            gpu::device() + "; " + cookbook::machine());
  figures.speedup_over("one thread of the processor", "processor");
  figures.measure({{"one thread of the processor", 1, by_processor}, {"kernel and three copies", 1, by_device}},
                  rounds);
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28, largest = 90;
  int rounds = 21;
  cookbook::Options options("How fast an array is changed in place");
  options.add("count", count, "elements of each array on the device", 1, std::size_t{1} << 32);
  options.add("largest", largest, "elements of the largest array on the host, in units of 2^20", 1, 400);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cookbook::Checks checks;
  measure_kernels(count, rounds, checks);
  for (std::size_t size = 10; size < largest; size += 40) measure_calls(size << 20, rounds, checks);
  measure_calls(largest << 20, rounds, checks);
  return checks.exit_code();
}
