/// Reading what NVIDIA's compute-sanitizer prints.
#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace debug_gpu {

/// The first finding in the output of memcheck, racecheck or synccheck: the line that names the fault, and those after
/// it that say where, and by which thread. Without addresses, the number of hazards and whether they are errors or
/// warnings, which differ from run to run, and without folders. Empty if the tool has found nothing.
inline std::vector<std::string> first_finding(const std::string& output) {
  static const std::regex fault("^=+ +(?:Error: |Warning: )?((Invalid|Race reported|Barrier error).*)$"),
      place("^=+ +((at|by|and) .*)$"), differs(" at 0x[0-9a-f]+|\\+0x[0-9a-f]+| \\[[0-9]+ hazards?\\]"),
      folder(" in .*/");
  std::vector<std::string> finding;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, finding.empty() ? fault : place)) {
      finding.push_back(std::regex_replace(std::regex_replace(match.str(1), differs, ""), folder, " in "));
    } else if (!finding.empty() && line.find("Access ") == std::string::npos) {
      break;
    }
  }
  return finding;
}

}  // namespace debug_gpu
