/// Who waits for whom: read from what gdb prints about a hung program, and the circle in it.
#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

/// A thread that waits in std::mutex::lock(). Threads have the numbers that the system gives them (LWP in gdb).
struct Waiting {
  std::string name;   // of the thread
  std::string mutex;  // the variable in which it is ("rice", "rice+8"), or its address
  int holder = 0;     // the thread that has locked it
  std::string place;  // the innermost function of the program's own source, and the line
};

/// The threads of a circle, each of which waits for the next one, and the last for the first; empty if there is none.
/// `waiting` has an entry for each thread that waits for a mutex.
inline std::vector<int> find_circle(const std::map<int, Waiting>& waiting) {
  for (const auto& [start, unused] : waiting) {
    std::vector<int> path;
    int thread = start;
    while (waiting.contains(thread)) {  // one that waits for no mutex ends the search
      const auto seen = std::find(path.begin(), path.end(), thread);
      if (seen != path.end()) return {seen, path.end()};
      path.push_back(thread);
      thread = waiting.at(thread).holder;
    }
  }
  return {};
}

/// The threads that wait for a mutex, from the output of these two commands of gdb:
///   tfaas print this->_M_mutex.__data.__owner    in each frame of each thread where that is something: in lock()
///   thread apply all backtrace                   of which `source`, a file's name, is looked for
inline std::map<int, Waiting> waiting_threads(const std::string& gdb_output, const std::string& source) {
  static const std::regex header("^Thread \\d+ \\(.*\\(LWP (\\d+)\\) \"(.*)\"\\):");
  static const std::regex in_lock("mutex::lock \\(this=(0x[0-9a-f]+)(?: <([^>]+)>)?\\)");
  static const std::regex owner("^\\$\\d+ = (\\d+)$");
  const std::regex frame("^#\\d+ +(?:0x[0-9a-f]+ in )?([\\w:]+).* at (?:.*/)?(" + source + ":\\d+)$");
  std::map<int, Waiting> waiting;
  std::istringstream lines(gdb_output);
  int thread = 0;
  std::string name, mutex;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, header)) {
      thread = std::stoi(match[1]);
      name = match[2];
      mutex = "?";
    } else if (std::regex_search(line, match, owner)) {
      waiting[thread] = {name, mutex, std::stoi(match[1]), ""};
    } else if (std::regex_search(line, match, frame)) {
      if (waiting.contains(thread) && waiting[thread].place.empty()) {
        waiting[thread].place = match.str(1) + ", " + match.str(2);
      }
    } else if (std::regex_search(line, match, in_lock)) {
      mutex = match[match[2].matched ? 2 : 1];
    }
  }
  return waiting;
}
