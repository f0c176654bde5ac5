/// The figures of functions as a text that Prometheus reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "metrics.hpp"

/// A text as the value of a label: with a backslash before what would end it.
inline std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
    if (c == '"' || c == '\\') value += '\\';
    value += c == '\n' ? "\\n" : std::string(1, c);
  }
  return value;
}

/// The figures of all functions in the text format that Prometheus reads.
template <typename Functions>
std::string prometheus_page(const Functions& functions) {
  std::vector<std::pair<std::string, FunctionMetrics::Reading>> all;  // each is read once, for both metrics
  for (const FunctionMetrics& function : functions) all.emplace_back(label_value(function.name), function.read());
  std::string page =
      "# HELP function_errors_total Calls that ended with an exception.\n# TYPE function_errors_total counter\n";
  for (const auto& [name, reading] : all) {
    page += fmt::format("function_errors_total{{function=\"{}\"}} {}\n", name, reading.errors);
  }
  page += "# HELP function_duration_seconds Time that calls took.\n# TYPE function_duration_seconds histogram\n";
  for (const auto& [name, reading] : all) {
    const auto add = [&, &of = name](std::string_view suffix, std::string_view label, auto value) {
      page += fmt::format("function_duration_seconds{}{{function=\"{}\"{}}} {}\n", suffix, of, label, value);
    };
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < reading.latencies.counts.size(); ++i) {
      so_far += reading.latencies.counts[i];
      const bool last = i + 1 == reading.latencies.counts.size();
      add("_bucket", last ? ",le=\"+Inf\"" : fmt::format(",le=\"{}\"", Histogram::limit(i)), so_far);
    }
    add("_sum", "", 1e-9 * static_cast<double>(reading.latencies.sum.count()));
    add("_count", "", so_far);
  }
  return page;
}
