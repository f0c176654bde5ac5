// The GPUs of this machine
//
// Asks every GPU for its name, its compute capability and its memory, and for the figures behind its speed: how many
// multiprocessors it has, how wide its memory bus is, how fast the clocks run. From these follow the threads that the
// GPU holds at once, the operations per second and the bytes per second. All three are upper limits; the last two are
// never quite reached. These two are first checked for a GPU whose data sheet is known; this part needs no GPU.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_devices/cuda_devices.cu common/cookbook/*.cpp -lfmt -o cuda_devices
// Run:     cuda_devices

#include <cmath>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "device_facts.hpp"

namespace {

/// The name of the error that CUDA returns for a device that does not exist.
std::string error_for(int device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  cudaGetLastError();  // the runtime keeps the last error until somebody asks for it: forget this one
  return cudaGetErrorName(error);
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Ask every GPU what it can do");
  options.parse(argc, argv);

  cookbook::Checks checks;
  const DeviceFacts v100 = {.name = "Tesla V100",
                            .major = 7,
                            .minor = 0,
                            .memory_bytes = 17'179'869'184,
                            .multiprocessors = 80,
                            .threads_per_multiprocessor = 2048,
                            .clock_khz = 1'530'000,
                            .memory_clock_khz = 877'000,
                            .memory_bus_bits = 4096};
  checks.equal("peak of a Tesla V100 in GFLOP/s (data sheet: 15700, rounded)", std::lround(peak_arithmetic(v100) / 1e9),
               15'667);
  checks.equal("peak of a Tesla V100 in GB/s (data sheet: 900, rounded)", std::lround(peak_bandwidth(v100) / 1e9), 898);
  if (!gpu::device_found()) return gpu::without_device(checks);

  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  cookbook::println("{} device(s) found.", count);
  for (int device = 0; device < count; ++device) {
    for (const std::string& line : report(device, facts_of(device))) cookbook::println("{}", line);
  }

  checks.equal("error for a device number that is too large", error_for(count), "cudaErrorInvalidDevice");
  return checks.exit_code();
}
