// Hopper product
//
// Multiplies matrices of 16-bit numbers on the tensor cores, in three steps from the kernel of cuda_tensor_cores to the
// speed of cuBLAS. A group of four warps multiplies tiles that lie in shared memory, by an instruction that exists on
// GPUs of compute capability 9.0 alone (H100, H200), and a copy engine brings the tiles there. The program prints how
// many operations per second each step makes, beside cuBLAS, and compares all elements with those of cuBLAS.
//
// Compile: nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_hopper_product/cuda_hopper_product.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_hopper_product
// Run:     cuda_hopper_product [--size N]

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "product_reference.cuh"
#include "products_alone.cuh"
#include "steps.cuh"

int main(int argc, char** argv) {
  int n = 4096;
  cookbook::Options options("Multiply matrices with Hopper's instructions, in three steps");
  options.add("size", n, "rows and columns of the matrices; rounded up to a multiple of 256", 1, 16'384);
  options.parse(argc, argv);
  if (!gpu::device_found() || !hopper_found()) return gpu::skipped;
  n = (n + 255) / 256 * 256;

  const std::size_t count = std::size_t(n) * n;
  gpu::DeviceArray<bfloat16> a(count), b(count);
  gpu::DeviceArray<float> c(count), expected(count);
  gpu::fill_random(a, 1);
  gpu::fill_random(b, 2);
  reference::Cublas cublas;
  const double library =
      reference::tflops(n, [&] { cublas.multiply(a.data(), b.data(), expected.data(), n, n, CUDA_R_16BF); });
  const auto print = [&](const char* what, double tflops) {
    cookbook::println("{:<42}{:4.0f} TFLOP/s{:5.0f} % of cuBLAS", what, tflops, 100 * tflops / library);
  };

  int wrong = 0;
  for (const Step& step : steps) {
    c.poison();
    print(step.name, reference::tflops(n, [&] { step.run(a.data(), b.data(), c.data(), n, nullptr); }));
    wrong += reference::far_apart(c, expected, reference::rounding_bound(n)) > 0;
  }
  print("cuBLAS", library);
  double operations = 0;
  const double products = reference::tflops(n, [&] { operations = start_products_alone(a.data(), c.data()); });
  print("wgmma alone, nothing copied", products * operations / (2.0 * n * n * n));  // it makes as many for any n

  cookbook::Checks checks;
  checks.equal("steps with elements far from cuBLAS's", wrong, 0);
  return checks.exit_code();
}
