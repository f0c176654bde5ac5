// Changing an array in place: what a call costs
//
// Ten million numbers a are replaced by (10 a + 2) (10 (b + 2) - 5) 5, by one thread of the processor and by the GPU.
// The kernel works in place: it reads a and b, and writes over a. But the data is on the host. So a and b are copied to
// the device first, and a is copied back. The program prints what each step takes, with ordinary memory of the host,
// which is pageable, and with the same memory after it was page-locked.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_affine_product/cuda_affine_product.cu common/cookbook/*.cpp -lfmt -o cuda_affine_product
// Run:     cuda_affine_product [--count N]

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "affine_product.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

using Start = void (*)(float* a, const float* b, std::size_t count);

struct Formula {
  __host__ __device__ float operator()(float a, float b) const { return affine_product(a, b); }
};

/// The same as start_change() by CUDA's library Thrust, which does not wait either (par_nosync).
void start_thrust(float* a, const float* b, std::size_t count) {
  thrust::transform(thrust::cuda::par_nosync, a, a + count, b, a, Formula{});
}

/// What the steps of a call take, in milliseconds.
struct Steps {
  float there = 1e9F, kernel = 1e9F, back = 1e9F, whole = 1e9F;
};

/// Calls the kernel five times for data on the host, and returns the shortest times. Each call begins with the original
/// a: a kernel that works in place has changed the one on the device.
Steps call(Start start, const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& result) {
  const std::size_t count = a.size(), bytes = count * sizeof(float);
  gpu::DeviceArray<float> device_a(count), device_b(count);
  std::array<cudaEvent_t, 4> marks{};  // the device notes the time when it comes to one
  for (cudaEvent_t& mark : marks) CUDA_CHECK(cudaEventCreate(&mark));
  Steps steps;
  for (int run = 0; run < 5; ++run) {
    CUDA_CHECK(cudaEventRecord(marks[0]));
    CUDA_CHECK(cudaMemcpyAsync(device_a.data(), a.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpyAsync(device_b.data(), b.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaEventRecord(marks[1]));
    start(device_a.data(), device_b.data(), count);
    CUDA_CHECK(cudaEventRecord(marks[2]));
    CUDA_CHECK(cudaMemcpyAsync(result.data(), device_a.data(), bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaEventRecord(marks[3]));
    CUDA_CHECK(cudaEventSynchronize(marks[3]));
    const auto keep_shorter = [&](float& shortest, int from, int to) {
      float milliseconds = 0;
      CUDA_CHECK(cudaEventElapsedTime(&milliseconds, marks[from], marks[to]));
      shortest = std::min(shortest, milliseconds);
    };
    keep_shorter(steps.there, 0, 1);
    keep_shorter(steps.kernel, 1, 2);
    keep_shorter(steps.back, 2, 3);
    keep_shorter(steps.whole, 0, 3);
  }
  for (const cudaEvent_t mark : marks) CUDA_CHECK(cudaEventDestroy(mark));
  if (device_b.to_host() != b) std::fill(result.begin(), result.end(), std::nanf(""));  // it must be unchanged
  return steps;
}

/// How many results differ from the processor's by 0.001 or more; counts a NaN, too. Spoils them for the next call.
std::size_t wrong_results(std::vector<float>& result, const std::vector<float>& expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) wrong += !(std::abs(result[i] - expected[i]) < 0.001F);
  std::fill(result.begin(), result.end(), std::nanf(""));
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 10'000'000;
  cookbook::Options options("Change an array in place on a GPU, copies included");
  options.add("count", count, "elements of each array", 1, 400'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("the formula of 1 and 1", affine_product(1, 1), 1500);

  std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count), expected, result(count);
  double processor = 1e9;
  for (int run = 0; run < 3; ++run) {
    expected = a;
    const cookbook::Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) expected[i] = affine_product(expected[i], b[i]);
    processor = std::min(processor, watch.seconds() * 1e3);
  }
  cookbook::println("{:<38}{:10.3f} ms", "one thread of the processor", processor);
  if (!gpu::device_found()) return gpu::without_device(checks);

  const Steps pageable = call(start_change, a, b, result);
  std::size_t wrong = wrong_results(result, expected);
  for (std::vector<float>* array : {&a, &b, &result}) {
    CUDA_CHECK(cudaHostRegister(array->data(), count * sizeof(float), cudaHostRegisterDefault));
  }
  const Steps locked = call(start_change, a, b, result);
  wrong += wrong_results(result, expected);
  const Steps by_thrust = call(start_thrust, a, b, result);
  wrong += wrong_results(result, expected);
  for (std::vector<float>* array : {&a, &b, &result}) CUDA_CHECK(cudaHostUnregister(array->data()));

  cookbook::println("{:<38}{:>13}{:>14}", "", "pageable", "page-locked");
  const auto print = [&](const char* what, float Steps::*step) {
    cookbook::println("{:<38}{:10.3f} ms{:11.3f} ms", what, pageable.*step, locked.*step);
  };
  print("copies of a and b to the device", &Steps::there);
  print("the kernel, in place", &Steps::kernel);
  print("copy of a back to the host", &Steps::back);
  print("the whole call", &Steps::whole);
  cookbook::println("{:<38}{:>24.3f} ms", "thrust::transform for the kernel", by_thrust.kernel);

  checks.equal("results that differ from the processor's", wrong, 0U);
  return checks.exit_code();
}
