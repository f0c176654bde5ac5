/// Picks out of the outputs of the program and of the tools what the lesson prints. Nobody needs this for a program of
/// his own: there one reads the report.
#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "cookbook/print.hpp"
#include "run_tool.hpp"

using Names = std::vector<std::string>;

inline bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The forms that a tool reports. The stack of an access goes through try_form<...>, which names the form.
inline Names reported_forms(const std::string& report) {
  static const std::regex begins("WARNING: ThreadSanitizer: data race|Possible data race|Conflicting (load|store)");
  static const std::regex names_form("try_form<(\\w+)>");
  Names found;
  bool in_first_stack = false;
  for (const std::string& line : lines_of(report)) {
    std::smatch match;
    if (std::regex_search(line, begins)) in_first_stack = true;
    if (!in_first_stack || !std::regex_search(line, match, names_form)) continue;
    in_first_stack = false;
    if (!contains(found, match[1])) found.push_back(match[1]);
  }
  return found;
}

/// Prints the two accesses of the first report of ThreadSanitizer, and the innermost line of the stack of each; without
/// addresses and folders.
inline void print_accesses(const std::string& report) {
  static const std::regex unneeded(" at 0x\\w+|/\\S*/| \\(\\w+\\+0x.*");
  const std::vector<std::string> lines = lines_of(report);
  int accesses = 0;
  for (std::size_t i = 1; i < lines.size() && accesses < 2; ++i) {
    if (lines[i - 1].find(" of size ") == std::string::npos) continue;
    ++accesses;
    for (const std::string& line : {lines[i - 1], lines[i]}) {
      cookbook::println("{}", std::regex_replace(line, unneeded, ""));
    }
  }
}

/// How many of the jobs of each form ended with the right result, in percent: the program's own lines of an output.
inline std::map<std::string, int> percent_right(const std::string& output, int jobs) {
  static const std::regex result("(\\w+) (\\d+)");
  std::map<std::string, int> percent;
  for (const std::string& line : lines_of(output)) {
    if (std::smatch match; std::regex_match(line, match, result)) percent[match[1]] = 100 * std::stoi(match[2]) / jobs;
  }
  return percent;
}
