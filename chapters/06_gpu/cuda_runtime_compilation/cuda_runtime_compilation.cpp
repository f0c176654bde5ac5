// Compiling a kernel at run time
//
// The kernel of this program is a text. While the program runs, NVIDIA's run-time compiler (NVRTC) makes machine code
// of it for the device that is found, and the driver loads the code and launches the kernel. A second request for the
// same text takes the code from a cache. For a text with a mistake the compiler names the line, and the program goes
// on. The program itself needs no CUDA compiler: this is plain C++.
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_runtime_compilation/cuda_runtime_compilation.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_runtime_compilation
// Run:     cuda_runtime_compilation [--count N]

#include <string>
#include <vector>

#include "code_cache.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

const std::string multiply_text = R"(extern "C" __global__
void multiply(const float* a, const float* b, float* product, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) product[i] = a[i] * b[i];
}
)";

/// Loads the machine code, and multiplies the vectors on the device.
std::vector<float> multiply(const std::string& code, const std::vector<float>& a, const std::vector<float>& b) {
  const gpu::Driver& driver = gpu::driver();
  CUmodule module;
  CUfunction kernel;
  DRIVER_CHECK(driver.cuModuleLoadData(&module, code.data()));
  DRIVER_CHECK(driver.cuModuleGetFunction(&kernel, module, "multiply"));

  int count = static_cast<int>(a.size());
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_product(a.size());
  device_product.poison();
  const float *pointer_a = device_a.data(), *pointer_b = device_b.data();
  float* pointer_product = device_product.data();
  void* arguments[] = {&pointer_a, &pointer_b, &pointer_product, &count};  // an address per parameter, no types
  const unsigned threads = 256, blocks = (count + threads - 1) / threads;
  // After the sizes: 0 bytes of extra shared memory, the default stream, the arguments, no other form of arguments.
  DRIVER_CHECK(driver.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr));

  std::vector<float> product = device_product.to_host();
  DRIVER_CHECK(driver.cuModuleUnload(module));
  return product;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 400;
  cookbook::Options options("Compile a kernel while the program runs");
  options.add("count", count, "elements of each vector", 1, 10'000'000);
  options.parse(argc, argv);
  const bool device_found = gpu::device_found();
  const std::string architecture = device_found ? gpu::architecture() : "sm_80";  // the compiler needs no device

  CodeCache cache;
  const cookbook::Stopwatch first;
  const std::string& code = cache.code(multiply_text, "multiply.cu", architecture);
  const double compiling = first.seconds();
  const cookbook::Stopwatch second;
  const std::string& same_code = cache.code(multiply_text, "multiply.cu", architecture);
  cookbook::println("compiled in {:.3f} ms, found in the cache in {:.3f} ms", compiling * 1e3, second.seconds() * 1e3);

  cookbook::Checks checks;
  checks.that("the second request got the code of the first", &same_code == &code && cache.size() == 1);

  std::string wrong_text = multiply_text, message;
  wrong_text.replace(wrong_text.find("product[i]"), 10, "prodct[i]");
  try {
    cache.code(wrong_text, "multiply.cu", architecture);
  } catch (const gpu::CompileError& error) {
    message = error.what();
  }
  checks.equal("message about a mistake", message.substr(0, message.find('\n')),
               R"(multiply.cu(4): error: identifier "prodct" is undefined)");
  if (!device_found) return gpu::without_device(checks);

  const std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
  std::vector<float> expected(count);
  for (int i = 0; i < count; ++i) expected[i] = a[i] * b[i];
  checks.that("every product is the one that the processor computes", multiply(code, a, b) == expected);
  return checks.exit_code();
}
