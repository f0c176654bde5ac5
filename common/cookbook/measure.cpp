#include "cookbook/measure.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

#include "cookbook/print.hpp"

namespace cookbook {

Timing timing_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {seconds.front(), median, seconds.back(), static_cast<int>(seconds.size())};
}

std::vector<Timing> run_interleaved(const std::vector<Benchmark>& rows, int rounds) {
  if (const char* limit = std::getenv("COOKBOOK_ROUNDS")) rounds = std::clamp(std::atoi(limit), 1, rounds);

  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<double>> seconds(rows.size());
  std::mt19937 random;
  for (const Benchmark& row : rows) row.run();
  for (int round = 0; round < rounds; ++round) {
    // What ran before leaves its mark, such as data in the caches. So no row always has the same one before it.
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) seconds[i].push_back(rows[i].run());
  }

  std::vector<Timing> timings;
  timings.reserve(rows.size());
  for (std::vector<double>& of_row : seconds) timings.push_back(timing_of(std::move(of_row)));
  return timings;
}

void require_memory(double bytes, const std::string& what) {
  double available = std::numeric_limits<double>::infinity();
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;) {
    if (word != "MemAvailable:") continue;
    info >> available;
    available *= 1024;
  }
  if (bytes <= available) return;
  print_error(fmt::format("{} needs {:.1f} GiB of memory; {:.1f} GiB are available", what, bytes / (1 << 30),
                          available / (1 << 30)));
  std::exit(2);
}

}  // namespace cookbook
