/// Kernels that are compiled while the program runs: checked calls of the compiler, NVRTC, and the functions of the
/// driver that load machine code and launch it.
#pragma once

#include <cuda.h>
#define NVRTC_GET_TYPE_NAME 1  // then nvrtc.h has nvrtcGetTypeName()
#include <nvrtc.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "cuda_check.hpp"

/// As CUDA_CHECK, for the calls of NVRTC and for those of the driver.
#define NVRTC_CHECK(call) ::gpu::check_nvrtc((call), #call, __FILE__, __LINE__)
#define DRIVER_CHECK(call) ::gpu::check_driver((call), #call, __FILE__, __LINE__)

namespace gpu {

/// The driver's functions of the same names.
struct Driver {
  decltype(&::cuModuleLoadData) cuModuleLoadData;
  decltype(&::cuModuleGetFunction) cuModuleGetFunction;
  decltype(&::cuModuleUnload) cuModuleUnload;
  decltype(&::cuLaunchKernel) cuLaunchKernel;
  decltype(&::cuGetErrorString) cuGetErrorString;
};

/// Finds one of the driver's functions while the program runs. A program that is linked with the driver's library does
/// not even start on a machine without a driver.
template <typename Function>
void find_driver_function(Function& function, const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
#if CUDART_VERSION >= 12050
  CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
#else
  CUDA_CHECK(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status));
#endif
  if (status != cudaDriverEntryPointSuccess) refused(name, "the driver has no such function", __FILE__, __LINE__);
  function = reinterpret_cast<Function>(found);
}

/// The functions, with the current device made ready for them.
inline const Driver& driver() {
  static const Driver functions = [] {
    Driver found;
    find_driver_function(found.cuModuleLoadData, "cuModuleLoadData");
    find_driver_function(found.cuModuleGetFunction, "cuModuleGetFunction");
    find_driver_function(found.cuModuleUnload, "cuModuleUnload");
    find_driver_function(found.cuLaunchKernel, "cuLaunchKernel");
    find_driver_function(found.cuGetErrorString, "cuGetErrorString");
    CUDA_CHECK(cudaFree(nullptr));  // frees nothing; a call of the runtime makes the device's context, which they need
    return found;
  }();
  return functions;
}

inline void check_driver(CUresult result, std::string_view call, std::string_view file, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* error = nullptr;
  driver().cuGetErrorString(result, &error);
  refused(call, error != nullptr ? error : "unknown error", file, line);
}

inline void check_nvrtc(nvrtcResult result, std::string_view call, std::string_view file, int line) {
  if (result != NVRTC_SUCCESS) refused(call, nvrtcGetErrorString(result), file, line);
}

/// What NVRTC calls the current device's instruction set, such as "sm_90".
inline std::string architecture() {
  int device = 0, major = 0, minor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return fmt::format("sm_{}{}", major, minor);
}

/// The compiler's messages about a text that it refuses: each names its line, counted from 1.
struct CompileError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Compiles the text of kernels into machine code for an architecture such as "sm_90". Throws CompileError, whose
/// messages call the text `name`. The recipe cuda_runtime_compilation explains these calls.
inline std::string compile(const std::string& text, const std::string& name, const std::string& architecture) {
  nvrtcProgram program;
  NVRTC_CHECK(nvrtcCreateProgram(&program, text.c_str(), name.c_str(), 0, nullptr, nullptr));
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++20"};
  const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
  if (result != NVRTC_ERROR_COMPILATION) NVRTC_CHECK(result);

  const bool good = result == NVRTC_SUCCESS;
  std::size_t size = 0;
  NVRTC_CHECK(good ? nvrtcGetCUBINSize(program, &size) : nvrtcGetProgramLogSize(program, &size));
  std::string output(size, '\0');
  NVRTC_CHECK(good ? nvrtcGetCUBIN(program, output.data()) : nvrtcGetProgramLog(program, output.data()));
  NVRTC_CHECK(nvrtcDestroyProgram(&program));
  if (!good) throw CompileError(output.c_str());
  return output;
}

}  // namespace gpu
