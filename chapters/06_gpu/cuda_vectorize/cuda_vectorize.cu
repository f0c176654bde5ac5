// One function for processor and GPU
//
// A function of two floats is written once. vectorize() makes of it a function of two vectors, and one word chooses
// where that runs: on the processor's cores, or on the GPU, with all copies there and back. The program does both with
// functions that have more and more to compute per pair of numbers, and prints how long they take, how long the GPU's
// kernel takes alone, and how long what the GPU's way has to do besides. All results have the same bits.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_vectorize/cuda_vectorize.cu common/cookbook/*.cpp -ltbb -lfmt -o cuda_vectorize
// Run:     cuda_vectorize [--count N]

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "stream.hpp"
#include "vectorize.cuh"

namespace {

/// What happens to one pair of elements. __host__ __device__ compiles it for both.
struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

/// a / (2 + b) + a / (3 + b) + ..., so many divisions.
struct Series {
  int divisions;
  __host__ __device__ float operator()(float a, float b) const {
    float sum = 0;
    for (int k = 0; k < divisions; ++k) sum += a / (static_cast<float>(k + 2) + b);
    return sum;
  }
};

/// The shortest of ten calls of `work`, in milliseconds. The first ones also get new memory from the system.
template <typename Work>
double milliseconds(Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs_to_make(10); ++i) {
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

/// Runs the function in both places and prints a row. Returns how many results have other bits than a plain loop's.
template <typename Function>
std::size_t compare(const std::string& name, Function function, const std::vector<float>& a,
                    const std::vector<float>& b, bool device_found) {
  std::vector<float> expected(a.size()), result;
  for (std::size_t i = 0; i < a.size(); ++i) expected[i] = function(a[i], b[i]);

  const auto on_cpu = vectorize(function, Target::cpu);
  const double cpu_time = milliseconds([&] { result = on_cpu(a, b); });
  std::size_t wrong = different(result, expected);
  if (!device_found) {
    cookbook::println("{:<19}{:13.3f} ms", name, cpu_time);
    return wrong;
  }

  const auto on_gpu = vectorize(function, Target::gpu);
  const double gpu_time = milliseconds([&] { result = on_gpu(a, b); });
  wrong += different(result, expected);

  // The kernel of Target::gpu alone, where the data is on the device already.
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_result(a.size());
  device_result.poison();
  const int count = static_cast<int>(a.size());
  const double seconds = fastest([&] {
    apply<<<(count + 255) / 256, 256>>>(function, device_a.data(), device_b.data(), device_result.data(), count);
    CUDA_CHECK(cudaGetLastError());
  });
  wrong += different(device_result.to_host(), expected);
  cookbook::println("{:<19}{:13.3f} ms{:11.3f} ms{:18.3f} ms", name, cpu_time, gpu_time, seconds * 1e3);
  return wrong;
}

/// What Target::gpu does besides its kernel, each part alone; last the copies as they could be. Returns how many
/// numbers come back from the device with other bits.
std::size_t print_parts(const std::vector<float>& a, const std::vector<float>& b) {
  const std::size_t count = a.size(), bytes = count * sizeof(float);
  const double vector_time = milliseconds([&] {
    const std::vector<float> result(count);
    cookbook::do_not_optimize(result.data());
  });
  const double array_time =
      milliseconds([&] { gpu::DeviceArray<float> device_a(count), device_b(count), result(count); });

  gpu::DeviceArray<float> device_a(count), device_b(count);
  const auto copy = [&](const float* from_a, const float* from_b, float* to) {
    CUDA_CHECK(cudaMemcpy(device_a.data(), from_a, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b.data(), from_b, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(to, device_b.data(), bytes, cudaMemcpyDeviceToHost));
  };
  std::vector<float> result(count);
  const double copy_time = milliseconds([&] { copy(a.data(), b.data(), result.data()); });
  std::size_t wrong = different(result, b);

  PinnedArray<float> pinned_a(count), pinned_b(count), pinned_result(count);
  std::copy(a.begin(), a.end(), pinned_a.begin());
  std::copy(b.begin(), b.end(), pinned_b.begin());
  const double pinned_time = milliseconds([&] { copy(pinned_a.data(), pinned_b.data(), pinned_result.data()); });
  wrong += different({pinned_result.begin(), pinned_result.end()}, b);

  cookbook::println("Target::gpu besides its kernel, each part alone");
  cookbook::println("{:<45}{:7.3f} ms", "make the vector of the results", vector_time);
  cookbook::println("{:<45}{:7.3f} ms", "allocate and free three arrays on the device", array_time);
  cookbook::println("{:<45}{:7.3f} ms", "three copies, from and to vectors", copy_time);
  cookbook::println("{:<45}{:7.3f} ms", "the same, from and to page-locked memory", pinned_time);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1'000'000;
  cookbook::Options options("Make a function of two floats one of two vectors, on the processor or on a GPU");
  options.add("count", count, "elements of each vector", 1, 400'000'000);
  options.parse(argc, argv);
  const bool device_found = gpu::device_found();

  const std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
  cookbook::println("{:<19}{:>16}{}", "per pair of numbers", "Target::cpu",
                    device_found ? "   Target::gpu     its kernel alone" : "");
  std::size_t wrong = compare("a + b", Add{}, a, b, device_found);
  for (const int divisions : {10, 30, 100, 300}) {
    wrong += compare(fmt::format("{} divisions", divisions), Series{divisions}, a, b, device_found);
  }
  if (device_found) wrong += print_parts(a, b);

  cookbook::Checks checks;
  checks.equal("results with other bits than a loop's", wrong, 0U);
  return device_found ? checks.exit_code() : gpu::without_device(checks);
}
