/// What happens to processes and channels, record by record.
#pragma once

#include <string>
#include <vector>

/// A step in the life of a process or a channel.
struct Record {
  std::string event;    ///< such as DoneRead
  std::string process;  ///< whose step it is
  std::string about;    ///< a channel, with the number of the communication on it; or other processes

  std::string text() const { return process + ": " + event + (about.empty() ? "" : " " + about); }
};

using Trace = std::vector<Record>;

/// Where records go; nowhere if null.
inline Trace* trace = nullptr;

inline void note(const char* event, const std::string& process, const std::string& about = "") {
  if (trace) trace->push_back({event, process, about});
}

inline void note(const char* event, const std::string& process, const std::string& channel, long id) {
  if (trace) trace->push_back({event, process, channel + " " + std::to_string(id)});
}
