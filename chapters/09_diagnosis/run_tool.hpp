/// Running a tool from a lesson, such as a compiler or a debugger, and reading its report.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

/// An empty folder, removed with all that is in it at the end of this object, or when the program calls std::exit().
/// One at a time.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("{}.XXXXXX", cookbook::program_name())) {
    if (mkdtemp(path_.data()) == nullptr) cookbook::exit_with_errno("mkdtemp");
    to_remove_ = path_;
    std::atexit(remove);
  }
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Writes a file into the folder, and returns its path.
  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = path_ + "/" + name;
    std::ofstream file(path);
    if (!(file << text << std::flush)) cookbook::exit_with_errno("write to " + path);
    return path;
  }

 private:
  static void remove() {
    std::error_code ignored;
    if (!to_remove_.empty()) std::filesystem::remove_all(to_remove_, ignored);
    to_remove_.clear();
  }

  static inline std::string to_remove_;
  std::string path_;
};

/// The path of a file that stands beside a source; `source` is its __FILE__. That may be relative to the folder in
/// which the compiler was called, so it is looked for in the folders above this program, and in the current one.
inline std::string beside(const std::filesystem::path& source, const std::string& name) {
  auto folder = std::filesystem::read_symlink("/proc/self/exe");
  while (!exists(folder / source) && folder != folder.parent_path()) folder = folder.parent_path();
  if (!exists(folder / source)) folder = std::filesystem::current_path();
  return (folder / source).lexically_normal().replace_filename(name).string();
}

/// What a tool printed, on standard output and standard error, and its exit code (-N: signal N ended it).
struct ToolResult {
  int exit_code;
  std::string text;
};

/// Runs several programs at the same time, to their end. Of each command the first word is the program, found as a
/// shell finds it. Ends this program with exit code 3 if one is silent for two minutes.
inline std::vector<ToolResult> run_tools(const std::vector<std::vector<std::string>>& commands) {
  std::vector<std::unique_ptr<cookbook::ChildProgram>> running;
  for (const auto& words : commands) {
    running.push_back(
        std::make_unique<cookbook::ChildProgram>(words, cookbook::ChildProcess::Output::piped_with_errors));
  }
  std::vector<ToolResult> results;
  for (const auto& tool : running) {
    const std::string text = tool->read_all(std::chrono::minutes(2));
    const auto code = tool->wait(std::chrono::seconds(10));
    if (!code) {
      cookbook::print_error(commands[results.size()][0] + " does not end");
      std::exit(3);
    }
    results.push_back({*code, text});
  }
  return results;
}

inline ToolResult run_tool(const std::vector<std::string>& words) { return run_tools({words})[0]; }

/// As run_tools(), for tools that have to succeed: if one does not, this program prints what that one said, and ends
/// with exit code 3. Returns what each of them printed.
inline std::vector<std::string> outputs_of_tools(const std::vector<std::vector<std::string>>& commands) {
  std::vector<std::string> texts;
  for (const auto& [code, text] : run_tools(commands)) {
    if (code != 0) {
      cookbook::print_error(fmt::format("{} ended with exit code {}:\n{}", commands[texts.size()][0], code, text));
      std::exit(3);
    }
    texts.push_back(text);
  }
  return texts;
}

inline std::string output_of_tool(const std::vector<std::string>& words) { return outputs_of_tools({words})[0]; }

/// Ends this program with exit code 77 (skipped) if there is no such tool; `package` is the one that has it.
inline void require_tool(const std::string& tool, std::string_view package) {
  if (run_tool({tool, "--version"}).exit_code == 0) return;
  cookbook::println("skipped: {} is missing; install {}", tool, package);
  std::exit(77);
}

/// The lines of a text.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}
