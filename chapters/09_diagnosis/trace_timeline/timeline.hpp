/// A trace for people to look at: as text, and as JSON for the viewers of browsers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "cookbook/print.hpp"
#include "trace.hpp"

inline double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// When the first event of a trace began and the last one ended.
struct Extent {
  explicit Extent(const Trace& trace) {
    for (const Track& track : trace.tracks()) {
      for (const Event& event : track.events) {
        begin = std::min(begin, event.begin);
        end = std::max(end, event.end);
      }
    }
  }
  Clock::time_point begin = Clock::time_point::max(), end = Clock::time_point::min();
};

/// How long a thread was in one of its events, which do not overlap.
inline double busy_milliseconds(const Track& track) {
  Clock::duration sum{};
  for (const Event& event : track.events) sum += event.end - event.begin;
  return milliseconds(sum);
}

/// From a thread's last event to the end of the last event of all workers: of all tracks but the first.
inline double idle_milliseconds(const Trace& trace, const Track& track) {
  if (track.events.empty()) return 0;
  Clock::time_point end = track.events.back().end;
  for (std::size_t i = 1; i < trace.tracks().size(); ++i) {
    const Track& worker = trace.tracks()[i];
    if (!worker.events.empty()) end = std::max(end, worker.events.back().end);
  }
  return milliseconds(end - track.events.back().end);
}

/// Events that begin before the one that was recorded before them, by the same thread, has ended.
inline int overlaps_of(const Trace& trace) {
  int overlaps = 0;
  for (const Track& track : trace.tracks()) {
    for (std::size_t i = 1; i < track.events.size(); ++i) {
      overlaps += track.events[i].begin < track.events[i - 1].end;
    }
  }
  return overlaps;
}

/// A character per millisecond since `origin`: the event's first letter, or a dot where there is none.
inline std::string drawing_of(const Track& track, Clock::time_point origin) {
  std::string line;
  for (const Event& event : track.events) {
    const auto first = static_cast<std::size_t>(std::lround(milliseconds(event.begin - origin)));
    const auto last = static_cast<std::size_t>(std::lround(milliseconds(event.end - origin)));
    if (line.size() < last) line.resize(last, '.');
    std::fill(line.begin() + static_cast<long>(std::min(first, last)), line.begin() + static_cast<long>(last),
              event.name[0]);
  }
  return line;
}

/// The trace's events as text of Google's Trace Event Format, a line each; times in it are microseconds. `process` and
/// its name are a group in the viewer.
inline std::string json_events(const Trace& trace, int process, const std::string& process_name) {
  const Clock::time_point origin = Extent(trace).begin;
  std::string text = fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})", process,
                                 cookbook::json_string(process_name));
  int thread = 0;
  for (const Track& track : trace.tracks()) {
    text += fmt::format(
        ",\n"
        R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
        process, ++thread, cookbook::json_string(track.name));
    for (const Event& event : track.events) {
      text += fmt::format(
          ",\n"
          R"({{"ph": "X", "name": {}, "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}}})",
          cookbook::json_string(event.name), process, thread, 1e3 * milliseconds(event.begin - origin),
          1e3 * milliseconds(event.end - event.begin));
    }
  }
  return text;
}
