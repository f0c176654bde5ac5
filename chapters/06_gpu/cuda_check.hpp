/// What every program of this chapter asks of the CUDA runtime: that each call is checked, and that there is a device.
#pragma once

#include <cuda_runtime.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "cookbook/checks.hpp"
#include "cookbook/print.hpp"

/// Stands around every call of the CUDA runtime. If the call is refused, it names the call, the error and the line on
/// standard error and ends the program with exit code 3. CUDA_CHECK(cudaGetLastError()) after each kernel launch tells
/// whether it was started; what goes wrong while it runs is told by the next call that waits for it.
#define CUDA_CHECK(call) ::gpu::check((call), #call, __FILE__, __LINE__)

namespace gpu {

/// The exit code of a recipe that found no device.
constexpr int skipped = 77;

/// Ends the program with exit code 3; `error` is CUDA's own text.
[[noreturn]] inline void refused(std::string_view call, std::string_view error, std::string_view file, int line) {
  cookbook::print_error(fmt::format("{}: {} ({}:{})", call, error, file.substr(file.rfind('/') + 1), line));
  std::exit(3);
}

inline void check(cudaError_t error, std::string_view call, std::string_view file, int line) {
  if (error != cudaSuccess) refused(call, cudaGetErrorString(error), file, line);
}

/// Whether there is a device to run on. If not, says why in one line on standard error; the program then makes the
/// checks that need none and ends with without_device().
inline bool device_found() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary) {
    int driver = 0;  // stays 0 if there is none; CUDA then calls the driver "insufficient"
    const bool known = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    cookbook::print_error(fmt::format("skipped, no CUDA device: {}",
                                      known ? cudaGetErrorString(error) : "no NVIDIA driver is installed"));
    return false;
  }
  CUDA_CHECK(error);
  return true;
}

/// The exit code of a program without a device: skipped, unless one of the checks made on the host has failed.
inline int without_device(const cookbook::Checks& checks) { return checks.passed() ? skipped : checks.exit_code(); }

/// Device and CUDA version in one line, such as "NVIDIA H200, 132 multiprocessors, CUDA 13.0".
inline std::string device() {
  int current = 0, version = 0;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDevice(&current));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, current));
  CUDA_CHECK(cudaRuntimeGetVersion(&version));
  return fmt::format("{}, {} multiprocessors, CUDA {}.{}", properties.name, properties.multiProcessorCount,
                     version / 1000, version % 1000 / 10);
}

}  // namespace gpu
