// Pitfall: an argument of the wrong type
//
// The kernel's parameter `count` has 8 bytes, the program passes the address of an int, which has 4. cuLaunchKernel
// gets addresses without types, so no compiler and no call objects. The driver copies 8 bytes: the int, and what lies
// behind it in memory. Here a 1 lies behind it, so the kernel takes 1000 for 4294968296, and writes behind the end.
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_runtime_compilation/cuda_runtime_compilation_wrong_type.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_runtime_compilation_wrong_type
// Run:     cuda_runtime_compilation_wrong_type
// Symptom: exit 1, prints "24 elements behind the end were overwritten"

#include <algorithm>
#include <vector>

#include "compile.hpp"
#include "cookbook/cuda.hpp"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const std::string code = compile(R"(extern "C" __global__ void fill_with_twos(float* values, size_t count) {
    const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = 2;
  })",
                                   "fill.cu", gpu::architecture());
  const gpu::Driver& driver = gpu::driver();
  CUmodule module;
  CUfunction kernel;
  DRIVER_CHECK(driver.cuModuleLoadData(&module, code.data()));
  DRIVER_CHECK(driver.cuModuleGetFunction(&kernel, module, "fill_with_twos"));

  gpu::DeviceArray<float> values(1024);
  values.zero();
  float* pointer = values.data();
  int numbers[] = {1000, 1};                    // the count, and another number that lies behind it
  void* arguments[] = {&pointer, &numbers[0]};  // wrong: the kernel's size_t has twice the bytes of an int
  DRIVER_CHECK(driver.cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));

  const std::vector<float> result = values.to_host();
  DRIVER_CHECK(driver.cuModuleUnload(module));
  const auto filled = std::count(result.begin(), result.begin() + 1000, 2.0F);
  const auto overwritten = std::count(result.begin() + 1000, result.end(), 2.0F);
  cookbook::println("{} elements were filled, {} elements behind the end were overwritten", filled, overwritten);
  return filled < 1000 || overwritten > 0 ? 1 : 0;
}
