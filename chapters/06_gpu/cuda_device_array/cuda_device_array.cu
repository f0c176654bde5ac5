// Arrays with operators on the device
//
// The class Array keeps numbers on the device, and 2 * a + 5 * b adds and multiplies them there, without a kernel in
// sight. If each operator ran a kernel of its own, the two products would be written to memory and read again. Here an
// operator returns an object that remembers its operands and the operation, and one kernel works out the whole
// expression. The program counts kernels and copies. The class is in array.cuh.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_device_array/cuda_device_array.cu common/cookbook/*.cpp -lfmt -o cuda_device_array
// Run:     cuda_device_array [--count N]

#include <vector>

#include "array.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  std::size_t count = 16;
  cookbook::Options options("Compute with whole arrays on a GPU");
  options.add("count", count, "elements of each array", 0, 100'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_a = gpu::random_numbers(1, count), host_b = gpu::random_numbers(2, count);
  const Array a(host_a), b(host_b);
  const int copies_before = Array::copies;

  // An array per operator: three kernels, two arrays that nobody needs later.
  const Array twice_a = 2 * a;
  const Array five_b = 5 * b;
  const Array in_parts = twice_a + five_b;
  const int kernels_in_parts = Array::kernels;

  // One array for the whole expression: one kernel.
  const Array at_once = 2 * a + 5 * b;
  const int kernels_at_once = Array::kernels - kernels_in_parts;

  std::vector<float> doubled(count);
  for (std::size_t i = 0; i < count; ++i) doubled[i] = 2 * host_a[i];

  cookbook::Checks checks;
  checks.equal("kernels for an array per operator", kernels_in_parts, count > 0 ? 3 : 0);
  checks.equal("kernels for the whole expression", kernels_at_once, count > 0 ? 1 : 0);
  checks.equal("copies between host and device during both", Array::copies - copies_before, 0);
  checks.that("both have the same bits", at_once.get() == in_parts.get());
  checks.that("2 * a doubles every element of a", twice_a.get() == doubled);
  return checks.exit_code();
}
