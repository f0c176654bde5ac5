/// Compiles the text of a kernel while the program runs, and keeps what it has compiled.
#pragma once

#include <map>
#include <string>
#include <utility>

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

/// What was compiled, kept under its text and its architecture, so that each text is compiled once.
class CodeCache {
 public:
  /// Throws gpu::CompileError, and then keeps nothing.
  const std::string& code(const std::string& text, const std::string& name, const std::string& architecture) {
    const std::pair key(text, architecture);
    if (const auto known = codes_.find(key); known != codes_.end()) return known->second;
    std::string code = compile(text, name, architecture);
    return codes_.emplace(key, std::move(code)).first->second;
  }

  std::size_t size() const { return codes_.size(); }

 private:
  std::map<std::pair<std::string, std::string>, std::string> codes_;
};
