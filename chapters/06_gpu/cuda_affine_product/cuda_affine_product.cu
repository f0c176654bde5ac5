// Changing an array in place, copies included
//
// Ten million numbers a are replaced by (10 a + 2) (10 (b + 2) - 5) 5, by the processor and by the GPU. The kernel
// works in place: it reads a and b, and writes over a. The GPU's time is shown twice: of the kernel alone, and with the
// copies of a and b to the device and of a back to the host. The second is what a program pays whose data is on the
// host.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_affine_product/cuda_affine_product.cu common/cookbook/*.cpp -lfmt -o cuda_affine_product
// Run:     cuda_affine_product [--count N]

#include <cmath>
#include <vector>

#include "affine_product.cuh"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  std::size_t count = 10'000'000;
  cookbook::Options options("Change an array in place on a GPU, copies included");
  options.add("count", count, "elements of each array", 1, 400'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("a = 1, b = 1", affine_product(1, 1), 1500);
  checks.equal("a = 0, b = 0", affine_product(0, 0), 150);
  if (!gpu::device_found()) return gpu::without_device(checks);

  std::vector<float> a = gpu::random_numbers(1, count), expected = a;
  const std::vector<float> b = gpu::random_numbers(2, count);
  const std::size_t bytes = count * sizeof(float);

  const cookbook::Stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) expected[i] = affine_product(expected[i], b[i]);
  const double processor = watch.seconds();

  gpu::DeviceArray<float> device_a(count), device_b(count);
  change<<<1, 1>>>(device_a.data(), device_b.data(), 0);  // changes nothing; the first launch loads the kernel
  CUDA_CHECK(cudaGetLastError());

  gpu::EventTimer whole_time, kernel_time;
  whole_time.start();
  CUDA_CHECK(cudaMemcpy(device_a.data(), a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_b.data(), b.data(), bytes, cudaMemcpyHostToDevice));
  kernel_time.start();
  start_change(device_a.data(), device_b.data(), count);
  const double kernel_alone = kernel_time.stop();
  CUDA_CHECK(cudaMemcpy(a.data(), device_a.data(), bytes, cudaMemcpyDeviceToHost));
  const double with_copies = whole_time.stop();

  cookbook::println("one thread of the processor: {:.3f} ms", processor * 1e3);
  cookbook::println("the kernel:                  {:.3f} ms", kernel_alone * 1e3);
  cookbook::println("the kernel and three copies: {:.3f} ms", with_copies * 1e3);

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += !(std::abs(a[i] - expected[i]) < 0.001F);  // counts a NaN, too
  checks.equal("results that differ from the processor's by 0.001 or more", wrong, 0U);
  checks.that("b is unchanged", device_b.to_host() == b);
  return checks.exit_code();
}
