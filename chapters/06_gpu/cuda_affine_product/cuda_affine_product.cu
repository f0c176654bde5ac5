// Changing an array in place
//
// A kernel computes a formula of two arrays a and b. It may write the results over a, or into an array of their own.
// The program does both, with a kernel whose thread i reads a[i], and with one whose thread i reads a[count - 1 - i],
// which another thread overwrites. It prints how long the kernels take, how much memory of the device they need, and
// how many results are wrong.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_affine_product/cuda_affine_product.cu common/cookbook/*.cpp -lfmt -o cuda_affine_product
// Run:     cuda_affine_product [--count N]

#include <cmath>
#include <vector>

#include "affine_product.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"

namespace {

/// Thread i alone reads a[i], so `result` may be a itself.
__global__ void same_element(const float* a, const float* b, float* result, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) result[i] = affine_product(a[i], b[i]);
}

/// Thread i reads an element that belongs to another thread. If `result` is a, that one may have overwritten it.
__global__ void other_element(const float* a, const float* b, float* result, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) result[i] = affine_product(a[count - 1 - i], b[i]);
}

/// How many results differ from the processor's by 0.001 or more (rounding makes up to some 0.0001); counts what is not
/// a number, too.
std::size_t wrong_results(const std::vector<float>& results, const std::vector<float>& expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < results.size(); ++i) wrong += !(std::abs(results[i] - expected[i]) < 0.001F);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 40'000'000;
  cookbook::Options options("Change an array in place on a GPU");
  options.add("count", count, "elements of each array", 1, 400'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_a = gpu::random_numbers(1, count), host_b = gpu::random_numbers(2, count);
  std::vector<float> same(count), other(count);  // the results that the processor computes
  for (std::size_t i = 0; i < count; ++i) {
    same[i] = affine_product(host_a[i], host_b[i]);
    other[i] = affine_product(host_a[count - 1 - i], host_b[i]);
  }

  const gpu::DeviceArray<float> original(host_a), b(host_b);
  gpu::DeviceArray<float> a(count), own(count);
  const std::size_t bytes = count * sizeof(float);
  const unsigned threads = 256, blocks = static_cast<unsigned>((count + threads - 1) / threads);

  /// Runs the kernel ten times, from the original a each time, prints a row and returns the number of wrong results.
  const auto run = [&](const char* what, auto kernel, gpu::DeviceArray<float>& result,
                       const std::vector<float>& expected) {
    const auto restore = [&] {
      own.poison();
      CUDA_CHECK(cudaMemcpyAsync(a.data(), original.data(), bytes, cudaMemcpyDeviceToDevice));
    };
    const double seconds = fastest_alone(
        [&] {
          kernel<<<blocks, threads>>>(a.data(), b.data(), result.data(), count);
          CUDA_CHECK(cudaGetLastError());
        },
        10, restore);
    const std::size_t wrong = wrong_results(result.to_host(), expected), arrays = &result == &a ? 2 : 3;
    cookbook::println("{:<48}{:6.0f} us{:8.0f} MB{:16}", what, seconds * 1e6, arrays * bytes * 1e-6, wrong);
    return wrong;
  };

  cookbook::println("{:<48}{:>9}{:>11}{:>16}", fmt::format("{} elements", count), "kernel", "memory", "wrong results");
  std::size_t wrong = run("reads a[i], in place", same_element, a, same);
  wrong += run("reads a[i], results in an array of their own", same_element, own, same);
  run("reads a[count - 1 - i], in place", other_element, a, other);
  wrong += run("reads a[count - 1 - i], in an array of their own", other_element, own, other);

  cookbook::Checks checks;
  checks.equal("wrong results where nobody overwrites what another thread reads", wrong, 0U);
  return checks.exit_code();
}
