/// Picks out of a report of AddressSanitizer what the page shows of it. Nobody needs this for a program of his own:
/// there one reads the report.
#pragma once

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

using Lines = std::vector<std::string>;

/// A stack of the report: the thread, and the innermost function of our source, with what stands in its line.
struct Stack {
  std::string thread, function, line, text;
};

struct Report {
  std::string kind;  ///< "heap-use-after-free, READ of size 4"; empty: nothing was found
  Stack access, freed, allocated;
};

/// A line of a file, counted from 1, without the space at its beginning.
inline std::string line_of(const std::string& path, int number) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(file, line);
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

/// Picks the three stacks out of a report about `source`, the name of a file.
inline Report read_report(const Lines& lines, const std::string& source) {
  Report report;
  Stack* stack = nullptr;
  std::smatch match;
  for (const std::string& line : lines) {
    if (std::regex_search(line, match, std::regex("ERROR: AddressSanitizer: (\\S+) on address"))) {
      report.kind = match[1];
    } else if (std::regex_search(line, match, std::regex("^((?:READ|WRITE) of size \\d+) at \\S+ thread (T\\d+)"))) {
      report.kind += ", " + match[1].str();
      stack = &report.access;
      stack->thread = match[2];
    } else if (std::regex_search(line, match, std::regex("^freed by thread (T\\d+)"))) {
      stack = &report.freed;
      stack->thread = match[1];
    } else if (std::regex_search(line, match, std::regex("^previously allocated by thread (T\\d+)"))) {
      stack = &report.allocated;
      stack->thread = match[1];
    } else if (stack != nullptr && stack->function.empty() &&
               std::regex_search(line, match, std::regex(" in ([^ (]+)\\S* (\\S*/" + source + "):(\\d+)"))) {
      *stack = {stack->thread, match[1], match[3], line_of(match[2], std::stoi(match[3]))};
    }
  }
  return report;
}
