/// What a platform counts for each function: calls, errors and latencies, without a line of code in the function.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

/// How many calls took how long. Bucket i counts those of at most 2^i microseconds that are in no bucket before it; the
/// last one counts all that are longer.
class Histogram {
 public:
  using Counts = std::array<std::uint64_t, 22>;

  void add(std::chrono::nanoseconds latency) {
    const auto below = static_cast<std::uint64_t>((latency.count() - 1) / 1000);  // 1000 ns still are 0
    const auto bucket = std::min<std::size_t>(std::bit_width(below), counts_.size() - 1);
    ++counts_[bucket];  // atomic: no call is lost, however many threads come here at the same time
    nanoseconds_ += latency.count();
  }

  Counts counts() const {
    Counts copy;
    std::copy(counts_.begin(), counts_.end(), copy.begin());
    return copy;
  }

  double sum_in_seconds() const { return 1e-9 * static_cast<double>(nanoseconds_.load()); }

  /// The upper end of a bucket, in seconds.
  static double limit(std::size_t bucket) {
    if (bucket + 1 == Counts().size()) return std::numeric_limits<double>::infinity();
    return 1e-6 * static_cast<double>(std::uint64_t{1} << bucket);
  }

 private:
  std::array<std::atomic<std::uint64_t>, Counts().size()> counts_ = {};
  std::atomic<std::int64_t> nanoseconds_ = 0;
};

inline std::uint64_t total(const Histogram::Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// A time in seconds that the share `q` of the calls did not exceed: the upper end of the bucket that has this call.
inline double quantile(const Histogram::Counts& counts, double q) {
  const double wanted = q * static_cast<double>(total(counts));
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    so_far += counts[i];
    if (so_far > 0 && static_cast<double>(so_far) >= wanted) return Histogram::limit(i);
  }
  return 0;
}

/// A function and its figures. Any number of threads may call it at the same time.
struct FunctionMetrics {
  std::string name;
  Histogram latencies = {};
  std::atomic<std::uint64_t> errors = 0;

  /// Calls `function`; counts the call, how long it took, and an error if it threw. The exception goes on to the
  /// caller.
  template <typename Function>
  decltype(auto) call(Function&& function) {
    const Recorder recorder{*this};
    return std::forward<Function>(function)();
  }

 private:
  struct Recorder {
    FunctionMetrics& metrics;
    int exceptions = std::uncaught_exceptions();  // may be one already, if a destructor makes this call
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    ~Recorder() {  // runs on every way out of call()
      metrics.latencies.add(std::chrono::steady_clock::now() - start);
      if (std::uncaught_exceptions() > exceptions) ++metrics.errors;
    }
  };
};

/// The figures of all functions in the text format that Prometheus reads.
template <typename Functions>
std::string prometheus_page(const Functions& functions) {
  std::string page =
      "# HELP function_errors_total Calls that ended with an exception.\n# TYPE function_errors_total counter\n";
  for (const FunctionMetrics& function : functions) {
    page += fmt::format("function_errors_total{{function=\"{}\"}} {}\n", function.name, function.errors.load());
  }
  page += "# HELP function_duration_seconds Time that calls took.\n# TYPE function_duration_seconds histogram\n";
  for (const FunctionMetrics& function : functions) {
    const auto add = [&](std::string_view suffix, std::string_view label, auto value) {
      page += fmt::format("function_duration_seconds{}{{function=\"{}\"{}}} {}\n", suffix, function.name, label, value);
    };
    const Histogram::Counts counts = function.latencies.counts();  // once: all lines must be about the same calls
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      so_far += counts[i];
      const bool last = i + 1 == counts.size();
      add("_bucket", last ? ",le=\"+Inf\"" : fmt::format(",le=\"{}\"", Histogram::limit(i)), so_far);
    }
    add("_sum", "", function.latencies.sum_in_seconds());
    add("_count", "", so_far);
  }
  return page;
}
