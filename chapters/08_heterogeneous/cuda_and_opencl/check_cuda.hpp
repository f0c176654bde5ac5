/// Checked calls of the CUDA runtime, and whether there is a GPU: what opencl_check.hpp has for OpenCL.
#pragma once

#include <cuda_runtime.h>

#include <cstdlib>
#include <string_view>

#include "cookbook/print.hpp"

/// Stands around every call of the CUDA runtime. If the call fails, it names the call, the error and the line on
/// standard error and ends the program with exit code 3.
#define CHECK_CUDA(call) check_cuda((call), #call, __FILE__, __LINE__)

inline void check_cuda(cudaError_t error, std::string_view call, std::string_view file, int line) {
  if (error == cudaSuccess) return;
  cookbook::print_error(
      fmt::format("{}: {} ({}:{})", call, cudaGetErrorString(error), file.substr(file.rfind('/') + 1), line));
  std::exit(3);
}

/// Whether there is a GPU for CUDA. If not, says so on standard error.
inline bool cuda_device_found() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary) {
    cookbook::print_error("skipped, no CUDA device: an NVIDIA GPU and its driver are needed");
    return false;
  }
  CHECK_CUDA(error);
  return true;
}
