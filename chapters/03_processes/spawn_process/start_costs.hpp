/// What it costs to start a child and to join it, from parents with little and with much memory.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "child.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/system_check.hpp"

/// `bytes` of memory, all of it in use, as a large program's data is. It stands in pages of 4 KiB. The kernel keeps an
/// entry of 8 bytes for each of them, and fork copies these entries.
class UsedMemory {
 public:
  explicit UsedMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) return;
    check(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), "prctl");  // no huge pages, of which one entry stands for 2 MiB
    place_ =
        check(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0), "mmap");
    check(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), "prctl");
  }
  ~UsedMemory() {
    if (bytes_ != 0) munmap(place_, bytes_);
  }
  UsedMemory(const UsedMemory&) = delete;
  UsedMemory& operator=(const UsedMemory&) = delete;

 private:
  std::size_t bytes_;
  void* place_ = nullptr;
};

/// Prints how long `spawn` and `fork` and the join of what they have started take, from this process with ever more
/// memory in use, up to `mebibytes`. All rows are compared with `spawn` from a process with nearly none.
inline void print_start_costs(std::size_t mebibytes, const std::function<pid_t()>& spawn,
                              const std::function<pid_t()>& fork, const cookbook::Checks& checks) {
  cookbook::Figures figures("started and joined, from a parent with", cookbook::cost("us", 1e-6));
  for (const std::size_t size : std::set{std::size_t{0}, mebibytes / 16, mebibytes / 4, mebibytes}) {
    const UsedMemory memory(size << 20);
    const std::string name = fmt::format("{:>4} MiB in use: ", size);
    figures.measure(
        {{name + "posix_spawn", 1, [&] { exit_code_of(spawn()); }}, {name + "fork", 1, [&] { exit_code_of(fork()); }}},
        25);
  }
  figures.percent_of("   0 MiB in use: posix_spawn", "first row");
  figures.print(checks);
}
