/// A container's limit on processor time.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

/// The limit that control groups (version 2) set, as processors: ", but only the time of 1.5"; nothing if there is
/// none.
inline std::string quota(const std::filesystem::path& file = "/sys/fs/cgroup/cpu.max") {
  std::ifstream limit(file);
  double time = 0, period = 0;  // microseconds of processor time that may be used in each period; "max" is no number
  return limit >> time >> period ? fmt::format(", but only the time of {:.1f}", time / period) : "";
}
