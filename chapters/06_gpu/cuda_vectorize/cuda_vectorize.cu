// One function for processor and GPU
//
// Two functions of two floats are written once: one adds them, the other adds up many terms of a series. vectorize()
// makes of each a function of two vectors, and one word chooses where that runs: on the processor's cores, or on the
// GPU, with all copies there and back. The program prints how long each takes, beside a plain loop. Who wins depends on
// how much there is to compute per number that is copied. All results have the same bits.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_vectorize/cuda_vectorize.cu common/cookbook/*.cpp -ltbb -lfmt -o cuda_vectorize
// Run:     cuda_vectorize [--count N] [--terms N] [--chunk N]

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "vectorize.cuh"

namespace {

/// What happens to one pair of elements. __host__ __device__ compiles it for both.
struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

/// a / (2 + b) + a / (3 + b) + ..., so many terms.
struct Series {
  int terms;
  __host__ __device__ float operator()(float a, float b) const {
    float sum = 0;
    for (int k = 0; k < terms; ++k) sum += a / (static_cast<float>(k + 2) + b);
    return sum;
  }
};

/// The shortest of three calls of `work`, in milliseconds.
template <typename Work>
double milliseconds(Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const cookbook::Stopwatch watch;
    work();
    best = std::min(best, watch.seconds() * 1e3);
  }
  return best;
}

/// How many elements differ in a bit.
std::size_t different(const std::vector<float>& x, const std::vector<float>& y) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += std::memcmp(&x[i], &y[i], sizeof(float)) != 0;
  return count;
}

/// Runs the function in every way and prints the times. Returns how many results have other bits than the loop's.
template <typename Function>
std::size_t compare(const std::string& name, Function function, const std::vector<float>& a,
                    const std::vector<float>& b, std::size_t chunk, bool device_found) {
  std::vector<float> expected, result;
  std::size_t wrong = 0;
  const auto print = [&](const std::string& where, double time) {
    cookbook::println("{:<12}{:<30}{:10.3f} ms", name, where, time);
  };
  print("a loop, one core", milliseconds([&] {
          expected = std::vector<float>(a.size());  // as vectorize() does
          for (std::size_t i = 0; i < a.size(); ++i) expected[i] = function(a[i], b[i]);
        }));

  const auto on_cpu = vectorize(function, Target::cpu);
  print("Target::cpu", milliseconds([&] { result = on_cpu(a, b); }));
  wrong += different(result, expected);
  if (!device_found) return wrong;

  const auto on_gpu = vectorize(function, Target::gpu, chunk);
  print("Target::gpu", milliseconds([&] { result = on_gpu(a, b); }));
  wrong += different(result, expected);

  // Where the data is on the device already there is nothing to copy.
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_result(a.size());
  device_result.poison();
  const double seconds = fastest(
      [&] {
        thrust::transform(thrust::cuda::par_nosync, device_a.data(), device_a.data() + a.size(), device_b.data(),
                          device_result.data(), function);
      },
      3);
  print("thrust::transform, no copies", seconds * 1e3);
  return wrong + different(device_result.to_host(), expected);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1'000'000, chunk = std::size_t{1} << 26;
  int terms = 300;
  cookbook::Options options("Make a function of two floats one of two vectors, on the processor or on a GPU");
  options.add("count", count, "elements of each vector", 1, 400'000'000);
  options.add("terms", terms, "terms of the series", 1, 100'000);
  options.add("chunk", chunk, "elements that go to the GPU at a time", 1, 400'000'000);
  options.parse(argc, argv);
  const bool device_found = gpu::device_found();

  const std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
  std::size_t wrong = compare("a + b", Add{}, a, b, chunk, device_found);
  wrong += compare(fmt::format("{} terms", terms), Series{terms}, a, b, chunk, device_found);

  cookbook::Checks checks;
  checks.equal("results with other bits than the loop's", wrong, 0U);
  return device_found ? checks.exit_code() : gpu::without_device(checks);
}
