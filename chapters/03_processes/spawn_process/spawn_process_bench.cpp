// Starting a process, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/03_processes/spawn_process/spawn_process_bench.cpp common/cookbook/*.cpp -lfmt -o spawn_process_bench
// Run:     spawn_process_bench [--mebibytes N] [--rounds N] [--huge-pages]

#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"

namespace {

/// Memory that this process uses, as the data of a large program: in pages of 4 KiB, or in huge ones, which are 512
/// times as large, where the system has some.
class UsedMemory {
 public:
  UsedMemory(std::size_t bytes, bool huge_pages) : bytes_(bytes) {
    if (bytes_ == 0) return;
    place_ = check(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mmap");
    if (huge_pages) {
      check(madvise(place_, bytes_, MADV_HUGEPAGE), "madvise");
    } else {
      madvise(place_, bytes_, MADV_NOHUGEPAGE);  // fails only on a system that has none
    }
    std::memset(place_, 1, bytes_);
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

constexpr const char* program = "/bin/true";  // a program that ends at once, with exit code 0

int by_fork() {
  const pid_t child = check(fork(), "fork");
  if (child == 0) _exit(0);
  return cookbook::exit_code_of(child);
}

/// The seconds until fork returns, without the end of the child.
double until_fork_returns(int& failed) {
  const cookbook::Stopwatch watch;
  const pid_t child = check(fork(), "fork");
  if (child == 0) _exit(0);
  const double seconds = watch.seconds();
  failed += cookbook::exit_code_of(child) != 0;
  return seconds;
}

int by_fork_and_exec() {
  const pid_t child = check(fork(), "fork");
  if (child == 0) {
    execl(program, program, nullptr);
    _exit(127);
  }
  return cookbook::exit_code_of(child);
}

int by_spawn() {
  std::string name = program;
  char* const arguments[] = {name.data(), nullptr};
  pid_t child = 0;
  check_error(posix_spawn(&child, program, nullptr, nullptr, arguments, environ), "posix_spawn");
  return cookbook::exit_code_of(child);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mebibytes = 1024;
  int rounds = 25;
  bool huge_pages = false;
  cookbook::Options options("What it costs to start a process and to join it");
  options.add("mebibytes", mebibytes, "memory of the largest parent, in MiB", 0, 65'536);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.add_flag("huge-pages", huge_pages, "the parents use huge pages");
  options.parse(argc, argv);
  cookbook::require_memory(static_cast<double>(mebibytes) * (1 << 20), fmt::format("--mebibytes {}", mebibytes));

  int failed = 0;
  cookbook::Figures figures("one child started", cookbook::cost("us", 1e-6));
  for (const std::size_t size : std::set{std::size_t{0}, mebibytes / 16, mebibytes / 4, mebibytes}) {
    const UsedMemory memory(size << 20, huge_pages);
    const std::string parent = fmt::format(", parent uses {} MiB", size);
    figures.measure({{"fork" + parent, 1, [&] { failed += by_fork() != 0; }},
                     {"fork, until it returns" + parent, 1, [&] { return until_fork_returns(failed); }},
                     {"fork and exec" + parent, 1, [&] { failed += by_fork_and_exec() != 0; }},
                     {"posix_spawn" + parent, 1, [&] { failed += by_spawn() != 0; }}},
                    rounds);
  }

  cookbook::Checks checks;
  checks.equal("children that did not end with exit code 0", failed, 0);
  figures.print(checks);
  return checks.exit_code();
}
