/// Kernels that are compiled while the program runs: checked calls of the compiler, NVRTC, and the functions of the
/// driver that load machine code and launch it.
#pragma once

#include <cuda.h>
#define NVRTC_GET_TYPE_NAME 1  // then nvrtc.h has nvrtcGetTypeName()
#include <nvrtc.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/cuda.hpp"

/// As CUDA_CHECK, for the calls of NVRTC and for those of the driver.
#define NVRTC_CHECK(call) ::gpu::check((call), nvrtcGetErrorString, #call, __FILE__, __LINE__)
#define DRIVER_CHECK(call) ::gpu::check((call), ::gpu::driver_error, #call, __FILE__, __LINE__)

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
  if (status != cudaDriverEntryPointSuccess) {
    exit_with_error(name, "the driver has no such function", __FILE__, __LINE__);
  }
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

/// The driver's text for an error.
inline std::string driver_error(CUresult result) {
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  return text != nullptr ? text : "unknown error";
}

/// What to compile for, so that a device of compute capability `own` (90 for 9.0) can run it, with a compiler that
/// knows the architectures `known`: machine code, such as "sm_90", if it knows the device's own. Otherwise, for the
/// nearest older one, an intermediate language that the driver translates (PTX), such as "compute_90". Empty if all are
/// newer.
inline std::string architecture_for(int own, const std::vector<int>& known) {
  int nearest = 0;
  for (const int other : known) {
    if (other <= own) nearest = std::max(nearest, other);
  }
  return nearest == 0 ? "" : fmt::format("{}_{}", nearest == own ? "sm" : "compute", nearest);
}

/// The architecture for the current device. Ends the program with exit code 3 if the compiler has none.
inline std::string architecture() {
  int device = 0, major = 0, minor = 0, count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  NVRTC_CHECK(nvrtcGetNumSupportedArchs(&count));
  std::vector<int> known(count);
  NVRTC_CHECK(nvrtcGetSupportedArchs(known.data()));
  std::string found = architecture_for(10 * major + minor, known);
  if (found.empty()) {
    exit_with_error("nvrtcGetSupportedArchs", fmt::format("nothing for compute capability {}.{}", major, minor),
                    __FILE__, __LINE__);
  }
  return found;
}

/// The compiler's messages about a text that it refuses: each names its line, counted from 1.
struct CompileError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Compiles the text of kernels for an architecture such as "sm_90" or "compute_90". Throws CompileError, whose
/// messages call the text `name`. The recipe cuda_runtime_compilation explains these calls.
inline std::string compile(const std::string& text, const std::string& name, const std::string& architecture) {
  nvrtcProgram program;
  NVRTC_CHECK(nvrtcCreateProgram(&program, text.c_str(), name.c_str(), 0, nullptr, nullptr));
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++20"};
  const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
  if (result != NVRTC_ERROR_COMPILATION) NVRTC_CHECK(result);

  const bool good = result == NVRTC_SUCCESS, machine_code = architecture.starts_with("sm_");
  const auto size_of = !good ? nvrtcGetProgramLogSize : machine_code ? nvrtcGetCUBINSize : nvrtcGetPTXSize;
  const auto get = !good ? nvrtcGetProgramLog : machine_code ? nvrtcGetCUBIN : nvrtcGetPTX;
  std::size_t size = 0;
  NVRTC_CHECK(size_of(program, &size));
  std::string output(size, '\0');
  NVRTC_CHECK(get(program, output.data()));
  NVRTC_CHECK(nvrtcDestroyProgram(&program));
  if (!good) throw CompileError(output.c_str());
  return output;
}

}  // namespace gpu
