// Pitfall: errors that nobody looks at
//
// A loop over the devices goes one too far, and no error is looked at. The last call is refused, so it gives no
// properties, and the list gets a device that does not exist: look at its name. And the runtime keeps the error: the
// next cudaGetLastError(), after a kernel launch that was accepted, returns it.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_devices/cuda_devices_unchecked.cu common/cookbook/*.cpp -lfmt -o cuda_devices_unchecked
// Run:     cuda_devices_unchecked
// Symptom: exit 1, prints "said to have failed: invalid device ordinal"

#include <string>
#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void do_nothing() {}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  int count = 0;
  cudaGetDeviceCount(&count);
  std::vector<std::string> names;
  cudaDeviceProp properties;
  for (int device = 0; device <= count; ++device) {  // wrong: the devices are 0 to count - 1
    cudaGetDeviceProperties(&properties, device);    // missing: CUDA_CHECK around this call
    names.push_back(properties.name);
  }
  cookbook::println("{} device(s) found, {} listed: {}", count, names.size(), fmt::join(names, ", "));

  do_nothing<<<1, 1>>>();
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return 0;
  cookbook::println("a kernel launch is said to have failed: {}", cudaGetErrorString(error));
  return 1;
}
