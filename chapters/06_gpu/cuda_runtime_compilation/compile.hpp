/// Compiles the text of a kernel while the program runs.
#pragma once

#include <string>

#include "cookbook/nvrtc.hpp"

/// Compiles `text` into machine code for an architecture such as "sm_90", or into PTX for one such as "compute_90".
/// Throws gpu::CompileError, whose messages call the text `name`.
inline std::string compile(const std::string& text, const std::string& name, const std::string& architecture) {
  nvrtcProgram program;
  NVRTC_CHECK(nvrtcCreateProgram(&program, text.c_str(), name.c_str(), 0, nullptr, nullptr));
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++20"};
  const nvrtcResult result = nvrtcCompileProgram(program, 2, options);

  std::string log, code;
  std::size_t size = 0;
  NVRTC_CHECK(nvrtcGetProgramLogSize(program, &size));
  log.resize(size);
  NVRTC_CHECK(nvrtcGetProgramLog(program, log.data()));
  if (result == NVRTC_SUCCESS) {
    const bool machine_code = architecture.starts_with("sm_");
    NVRTC_CHECK(machine_code ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size));
    code.resize(size);
    NVRTC_CHECK(machine_code ? nvrtcGetCUBIN(program, code.data()) : nvrtcGetPTX(program, code.data()));
  }
  NVRTC_CHECK(nvrtcDestroyProgram(&program));

  if (result == NVRTC_ERROR_COMPILATION) throw gpu::CompileError(log.c_str());  // the mistake is in the text
  NVRTC_CHECK(result);                                                          // something else, such as no memory
  return code;
}
