/// What Linux says about the machine in /sys: its caches, and the nodes of its memory.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace topology {

/// The first line of a file; empty if there is none.
inline std::string line_of(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

/// The numbers of a list as /sys writes it: "0-2,8" is 0, 1, 2 and 8.
inline std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream in(list);
  for (std::string range; std::getline(in, range, ',');) {
    int first = 0, last = 0;
    char dash = ' ';
    std::istringstream parts(range);
    if (!(parts >> first)) continue;
    if (!(parts >> dash >> last)) last = first;
    for (int number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

/// A number of bytes with the largest unit that leaves it whole: "48 KiB", "1536 KiB", "2 MiB".
inline std::string bytes_text(std::size_t bytes) {
  if (bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

struct Cache {
  int level;
  std::size_t bytes, line;     ///< its size, and that of what it loads at a time
  std::vector<int> shared_by;  ///< processors
};

/// The caches for data of one processor, the nearest first; none if the system does not say.
inline std::vector<Cache> caches(int processor) {
  std::vector<Cache> found;
  const std::filesystem::path folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache";
  for (int i = 0; std::filesystem::exists(folder / ("index" + std::to_string(i))); ++i) {
    const std::filesystem::path cache = folder / ("index" + std::to_string(i));
    if (line_of(cache / "type") == "Instruction") continue;
    std::istringstream size(line_of(cache / "size")), level(line_of(cache / "level")),
        line(line_of(cache / "coherency_line_size"));
    Cache entry{};
    char unit = ' ';
    if (!(size >> entry.bytes >> unit) || !(level >> entry.level)) continue;
    line >> entry.line;
    entry.bytes <<= unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
    entry.shared_by = numbers_of(line_of(cache / "shared_cpu_list"));
    found.push_back(entry);
  }
  std::ranges::sort(found, {}, &Cache::level);
  return found;
}

/// A part of the memory, and the processors that are near to it.
struct Node {
  int number;
  std::vector<int> processors;  ///< none if it is memory alone
  std::vector<int> distances;   ///< to each node; 10 is to itself, 20 is said to take twice as long
};

/// One where the system says nothing: then all memory is equally near.
inline std::vector<Node> nodes() {
  const std::filesystem::path folder = "/sys/devices/system/node";
  std::vector<Node> found;
  for (const int number : numbers_of(line_of(folder / "online"))) {
    const std::filesystem::path node = folder / ("node" + std::to_string(number));
    std::istringstream distances(line_of(node / "distance"));
    Node entry{number, numbers_of(line_of(node / "cpulist")), {}};
    for (int distance = 0; distances >> distance;) entry.distances.push_back(distance);
    found.push_back(entry);
  }
  if (found.empty()) found.push_back({0, {}, {10}});
  return found;
}

/// The numbers of the processors on which this thread may run, in the order in which cookbook::pin() counts them.
inline std::vector<int> allowed_processors() {
  std::vector<int> allowed;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return allowed;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) allowed.push_back(processor);
  }
  return allowed;
}

}  // namespace topology
