/// Running a program of a CUDA recipe with devices that are not there: support/cuda_without_device.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

namespace cuda_test {

inline std::string library() { return test_support::bin() + "/../lib/libcuda_without_device.so"; }

/// What the program did, and what it was seen to do with CUDA.
struct WithoutDevice {
  test_support::Result result;
  std::string record;
};

/// `settings` are environment variables of that library, such as COOKBOOK_CUDA_DEVICES. There is none for a sanitizer.
inline WithoutDevice run_without_device(const std::string& program, const std::vector<std::string>& arguments = {},
                                        std::map<std::string, std::string> settings = {}) {
  const test_support::TemporaryDirectory folder;
  const std::string record = (folder.path / "record").string();
  settings["LD_PRELOAD"] = library();
  settings["COOKBOOK_CUDA_RECORD"] = record;
  const auto result = test_support::run(program, arguments, {.environment = settings, .probed = false});
  return {result, test_support::text_of(record)};
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool can_run_without_device = false;
#else
constexpr bool can_run_without_device = true;
#endif

}  // namespace cuda_test
