// Arrays with operators on the device
//
// The class Array keeps numbers on the device, and 2 * a + 5 * b adds and multiplies them there, without a kernel in
// sight. If each operator ran a kernel of its own, the two products would be written to memory and read again. Here an
// operator returns an object that remembers its operands and the operation, and one kernel works out the whole
// expression. The program counts and times the kernels of both, beside Thrust. The class is in array.cuh.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_device_array/cuda_device_array.cu common/cookbook/*.cpp -lfmt -o cuda_device_array
// Run:     cuda_device_array [--count N]

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <algorithm>
#include <vector>

#include "array.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"

namespace {

/// What Thrust is given: the whole formula as one function, with each operation rounded, as in Array.
struct LinearCombination {
  __device__ float operator()(float x, float y) const { return __fadd_rn(__fmul_rn(2, x), __fmul_rn(5, y)); }
};

/// Does the work, prints its time, the fastest of ten, and returns how many kernels of Array it has started.
template <typename Work>
int run(const char* what, Work work) {
  const int kernels_before = Array::kernels;
  work();
  const int kernels = Array::kernels - kernels_before;
  cookbook::println("{:<38}{:8.3f} ms", what, fastest(work) * 1e3);
  return kernels;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Compute with whole arrays on a GPU");
  options.add("count", count, "elements of each array", 0, 100'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_a = gpu::random_numbers(1, count), host_b = gpu::random_numbers(2, count);
  const Array a(host_a), b(host_b);
  Array twice_a(host_b), five_b(host_b), in_parts(host_b), at_once(host_b);  // will be overwritten
  gpu::DeviceArray<float> by_thrust(std::max<std::size_t>(count, 1));
  by_thrust.poison();

  // An array per operator: three kernels, two arrays that nobody needs later.
  const int kernels_in_parts = run("an array per operator", [&] {
    twice_a = 2 * a;
    five_b = 5 * b;
    in_parts = twice_a + five_b;
  });

  // One array for the whole expression: one kernel.
  const int kernels_at_once = run("one array for the whole expression", [&] { at_once = 2 * a + 5 * b; });

  // The same as at once, by the library, without a class for it.
  run("thrust::transform", [&] {
    const float *x = a.elements().values, *y = b.elements().values;
    thrust::transform(thrust::cuda::par_nosync, x, x + count, y, by_thrust.data(), LinearCombination());
  });

  std::vector<float> expected(count), thrust_result = by_thrust.to_host();
  thrust_result.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    // In double precision, and then rounded to float: each operation gives the bits that float arithmetic gives.
    const auto product_a = static_cast<float>(2.0 * host_a[i]), product_b = static_cast<float>(5.0 * host_b[i]);
    expected[i] = static_cast<float>(double{product_a} + product_b);
  }

  cookbook::Checks checks;
  checks.equal("kernels for an array per operator", kernels_in_parts, count > 0 ? 3 : 0);
  checks.equal("kernels for the whole expression", kernels_at_once, count > 0 ? 1 : 0);
  int right = 0;
  for (const std::vector<float>& result : {at_once.get(), in_parts.get(), thrust_result}) right += result == expected;
  checks.that("all three have the same bits", right == 3);
  return checks.exit_code();
}
