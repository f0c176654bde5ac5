/// Files for a test, and what a program has written.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace test_support {

/// An empty folder of this test's own, removed with all that is in it at the end. Throws std::system_error if it cannot
/// be made.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string form = std::filesystem::temp_directory_path() / "cookbook_test.XXXXXX";
    if (mkdtemp(form.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    path = form;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path path;
};

/// All that is in a file; empty if there is none.
inline std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// How often `part` stands in `text`.
inline long count(const std::string& text, const std::string& part) {
  long found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace test_support
