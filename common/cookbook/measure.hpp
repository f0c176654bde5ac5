/// Measuring time: a stopwatch, and repeated runs with their median.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace cookbook {

/// Counts the seconds since it was made, on the steady clock.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// How long a piece of work took over several runs, in seconds.
struct Timing {
  double minimum = 0;
  double median = 0;
  double maximum = 0;
  int repeats = 0;
};

/// The timing of runs that took `seconds` each; at least one.
inline Timing timing_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {seconds.front(), median, seconds.back(), static_cast<int>(seconds.size())};
}

/// Runs `work` `warm_up` times unmeasured, then `repeats` times measured.
template <typename Work>
Timing measure(Work&& work, int repeats = 9, int warm_up = 1) {
  for (int i = 0; i < warm_up; ++i) work();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const Stopwatch watch;
    work();
    seconds.push_back(watch.seconds());
  }
  return timing_of(std::move(seconds));
}

/// Makes the compiler believe that `value` is read here, so that it cannot remove the work that computed it.
template <typename Value>
inline void keep(const Value& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace cookbook
