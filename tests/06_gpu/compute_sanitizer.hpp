/// Running a program of a CUDA recipe where mistakes with the device's memory show: between guard bytes, and under
/// NVIDIA's compute-sanitizer.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace cuda_test {

/// The exit code of a recipe that found no device.
constexpr int skipped = 77;

/// The path of compute-sanitizer: the one that CMake has found beside its CUDA toolkit, or one on PATH, or in CUDA's
/// usual folder. Empty if there is none.
inline std::string compute_sanitizer() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string found = variable("COOKBOOK_COMPUTE_SANITIZER"); !found.empty()) return found;
  std::istringstream folders(variable("PATH") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path path = std::filesystem::path(folder) / "compute-sanitizer";
    if (std::error_code error; std::filesystem::is_regular_file(path, error)) return path.string();
  }
  return "";
}

/// Whether the program is a bench that the default target left out, because there is no GPU: chapters/CMakeLists.txt.
inline bool left_out(const std::string& program) {
  return !std::filesystem::exists("/dev/nvidiactl") && !std::filesystem::exists(test_support::bin() + "/" + program);
}

/// A program's run under one of the tools, whose exit code is 9 if it has found something; or why there was none.
struct Sanitized {
  test_support::Result result;
  std::string not_run;
};

inline Sanitized run_under(const std::string& tool, const std::string& program,
                           const std::vector<std::string>& arguments = {},
                           const std::vector<std::string>& options = {}) {
  const std::string path = compute_sanitizer();
  if (path.empty()) return {{}, "no compute-sanitizer"};
  std::vector<std::string> words = {"--tool", tool, "--error-exitcode", "9"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(test_support::bin() + "/" + program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  // The tool loads a library into the program as well, and the program ends at its start if there is another one.
  Sanitized run{
      test_support::run(path, words,
                        {.environment = {{"COOKBOOK_ROUNDS", "1"}, {"COOKBOOK_FEW_RUNS", "1"}}, .probed = false}),
      ""};
  if (run.result.exit_code == skipped) run.not_run = "no device";
  // On a virtual machine that hides the device's counters.
  if (run.result.text().find("Device not supported") != std::string::npos) run.not_run = "Device not supported";
  return run;
}

/// Expects that the program makes no mistake with memory, with each of these arguments: an odd size, and one that whole
/// blocks or tiles divide. First between guard bytes, which every device can do, then under the tools: memcheck and
/// racecheck at every size, the others at the first one, since what they look for is there at an odd size, too.
inline void expect_clean(const std::string& program, const std::vector<std::vector<std::string>>& sizes,
                         const std::vector<std::string>& tools = {"memcheck", "racecheck"},
                         const std::vector<std::string>& options = {}) {
  if (left_out(program)) GTEST_SKIP() << program << " is not built: there is no GPU";
  for (const std::vector<std::string>& arguments : sizes) {
    const auto result =
        test_support::run(program, arguments, {.environment = {{"COOKBOOK_GUARD", "1"}, {"COOKBOOK_ROUNDS", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << "no device";
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string& tool : tools) {
      if (arguments != sizes.front() && tool != "memcheck" && tool != "racecheck") continue;
      const Sanitized run = run_under(tool, program, arguments, options);
      if (!run.not_run.empty()) GTEST_SKIP() << run.not_run;
      EXPECT_EQ(run.result.exit_code, 0) << tool << '\n' << run.result.text();
    }
  }
}

}  // namespace cuda_test
