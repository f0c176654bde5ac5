/// How child processes end, also those that sleep for ever.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

/// How many processes have ended in which way; "aborted" is every end but that with 0.
struct Ends {
  int good = 0, aborted = 0, asleep = 0;
};

/// As in /proc: "S" if it sleeps, "Z" if it has ended, or another letter, "R" for example if it works.
inline std::string state_of(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string id, name, state = "Z";
  stat >> id >> name >> state;
  return state;
}

/// Whether this child and all others that have not ended sleep.
inline bool all_sleep(pid_t child, const std::vector<pid_t>& children) {
  return state_of(child) == "S" && std::all_of(children.begin(), children.end(), [](pid_t other) {
           const std::string state = state_of(other);
           return state == "S" || state == "Z";
         });
}

/// Waits for the ends of these processes, all of which change `progress`. When two looks, some time apart, find that
/// all that are left sleep and that `progress` is the same, nobody will wake them, and it kills them. One look is not
/// enough: the states are read one after the other, so one process may wake up while those of the others are read.
inline Ends ends_of(const std::vector<pid_t>& children, const std::atomic<long>& progress) {
  Ends ends;
  for (const pid_t child : children) {
    std::optional<int> code;
    std::optional<long> before;  // the progress, if all were asleep when it looked
    for (bool stuck = false; !code && !stuck;) {
      const std::optional<long> now = all_sleep(child, children) ? std::optional(progress.load()) : std::nullopt;
      stuck = now && now == before;
      before = now;
      code = cookbook::exit_code_of(child, std::chrono::milliseconds(stuck ? 0 : 5));
    }
    ++(!code ? ends.asleep : *code == 0 ? ends.good : ends.aborted);
    if (code) continue;
    check(kill(child, SIGKILL), "kill");
    cookbook::exit_code_of(child);
  }
  return ends;
}
