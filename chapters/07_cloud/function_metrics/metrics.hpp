/// What a platform counts for each function: calls, errors and latencies, without a line of code in the function.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

/// How many calls took how long. Bucket i counts those of at most 2^i microseconds that are in no bucket before it; the
/// last one counts all that are longer.
struct Histogram {
  using Counts = std::array<std::uint64_t, 22>;

  Counts counts = {};
  std::chrono::nanoseconds sum{0};

  void add(std::chrono::nanoseconds latency) {
    const auto below = static_cast<std::uint64_t>((latency.count() - 1) / 1000);  // 1000 ns: still 0
    ++counts[std::min<std::size_t>(std::bit_width(below), counts.size() - 1)];
    sum += latency;
  }

  /// How many calls are in these buckets.
  std::uint64_t total(std::size_t first, std::size_t last) const {
    return std::accumulate(&counts.at(first), &counts.at(last) + 1, std::uint64_t{0});
  }
  std::uint64_t total() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

  /// The upper end of a bucket, in seconds.
  static double limit(std::size_t bucket) {
    if (bucket + 1 == Counts().size()) return std::numeric_limits<double>::infinity();
    return 1e-6 * static_cast<double>(std::uint64_t{1} << bucket);
  }
};

/// A time in seconds that the share `q` of the calls did not exceed: the upper end of the bucket that has this call.
inline double quantile(const Histogram& histogram, double q) {
  const double wanted = q * static_cast<double>(histogram.total());
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    so_far += histogram.counts[i];
    if (so_far > 0 && static_cast<double>(so_far) >= wanted) return Histogram::limit(i);
  }
  return 0;
}

/// A function and its figures. Any number of threads may call it at the same time.
class FunctionMetrics {
 public:
  /// What was counted up to a moment: all of it is about the same calls.
  struct Reading {
    Histogram latencies = {};
    std::uint64_t errors = 0;
  };

  explicit FunctionMetrics(std::string its_name) : name(std::move(its_name)) {}

  /// Calls `function`; counts the call, how long it took, and an error if it threw. The exception goes on to the
  /// caller.
  template <typename Function>
  decltype(auto) call(Function&& function) {
    const Recorder recorder{*this};
    return std::forward<Function>(function)();
  }

  Reading read() const {
    const std::scoped_lock lock(mutex_);
    return counted_;
  }

  const std::string name;

 private:
  struct Recorder {
    FunctionMetrics& metrics;
    int exceptions = std::uncaught_exceptions();  // may be one already, if a destructor makes this call
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    ~Recorder() {  // runs on every way out of call()
      const auto latency = std::chrono::steady_clock::now() - start;
      const std::scoped_lock lock(metrics.mutex_);  // bucket, sum and errors change together, and are read together
      metrics.counted_.latencies.add(latency);
      if (std::uncaught_exceptions() > exceptions) ++metrics.counted_.errors;
    }
  };

  mutable std::mutex mutex_;
  Reading counted_;
};
