// Arrays with operators on the device
//
// The class Array keeps numbers on the device, and 2 * a + 5 * b adds and multiplies them there, without a kernel in
// sight. If each operator ran a kernel of its own, the two products would be written to memory and read again. Here an
// operator returns an object that remembers its operands and the operation, and one kernel works out the whole
// expression. For both the program prints how many arrays are read and written, how long that takes at the speed of a
// copy, and the time, and the same for Thrust. The class is in array.cuh.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_device_array/cuda_device_array.cu common/cookbook/*.cpp -lfmt -o cuda_device_array
// Run:     cuda_device_array [--count N]

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <string_view>
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

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 25;
  cookbook::Options options("Compute with whole arrays on a GPU");
  options.add("count", count, "elements of each array", 1, 100'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_a = gpu::random_numbers(1, count), host_b = gpu::random_numbers(2, count);
  const Array a(host_a), b(host_b);
  Array twice_a(host_b), five_b(host_b), in_parts(host_b), at_once(host_b);  // will be overwritten
  gpu::DeviceArray<float> by_thrust(count);

  // An array per operator: three kernels, two arrays that nobody needs later.
  const auto an_array_per_operator = [&] {
    twice_a = 2 * a;
    five_b = 5 * b;
    in_parts = twice_a + five_b;
  };

  // One array for the whole expression: one kernel.
  const auto one_array = [&] { at_once = 2 * a + 5 * b; };

  // The same by the library, without a class for it.
  const float *x = a.elements().values, *y = b.elements().values;
  const auto thrust_transform = [&] {
    thrust::transform(thrust::cuda::par_nosync, x, x + count, y, by_thrust.data(), LinearCombination());
  };

  // A copy reads an array and writes one.
  const double copy = fastest(
      [&] { CUDA_CHECK(cudaMemcpyAsync(by_thrust.data(), x, count * sizeof(float), cudaMemcpyDeviceToDevice)); });
  by_thrust.poison();

  cookbook::println("2a + 5b, {} floats in each array", count);
  cookbook::println("{:<36}{:>7}{:>9}{:>20}{:>12}", "", "kernels", "arrays", "at a copy's speed", "time");
  const auto print = [&](std::string_view how, int kernels, int arrays, double seconds) {
    cookbook::println("{:<36}{:>7}{:>9}{:>17.3f} ms{:>9.3f} ms", how, kernels, arrays, arrays * copy / 2 * 1e3,
                      seconds * 1e3);
  };
  const auto run = [&](std::string_view how, const auto& work) {
    const int kernels = Array::kernels, arrays = Array::arrays_moved;
    work();
    const int kernels_run = Array::kernels - kernels, arrays_moved = Array::arrays_moved - arrays;
    print(how, kernels_run, arrays_moved, fastest(work));
  };
  run("an array per operator", an_array_per_operator);
  run("one array for the whole expression", one_array);
  print("thrust::transform", 1, 3, fastest(thrust_transform));

  std::vector<float> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    // In double precision, and then rounded to float: each operation gives the bits that float arithmetic gives.
    const auto product_a = static_cast<float>(2.0 * host_a[i]), product_b = static_cast<float>(5.0 * host_b[i]);
    expected[i] = static_cast<float>(double{product_a} + product_b);
  }

  cookbook::Checks checks;
  int right = 0;
  for (const std::vector<float>& result : {at_once.get(), in_parts.get(), by_thrust.to_host()}) {
    right += result == expected;
  }
  checks.that("all three have the same bits", right == 3);
  return checks.exit_code();
}
