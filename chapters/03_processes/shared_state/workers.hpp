/// Worker processes, started together and waited for together.
#pragma once

#include <vector>

#include "child.hpp"

/// Starts so many processes at once, each doing work(its number); returns how each has ended.
template <typename Work>
std::vector<int> run_workers(int workers, Work work) {
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) processes.push_back(start_child([&] { return work(i); }));
  std::vector<int> codes;
  for (const pid_t process : processes) codes.push_back(exit_code_of(process));
  return codes;
}
