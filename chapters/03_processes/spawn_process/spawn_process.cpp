// Spawn processes
//
// Child processes run one function, each with its own number. fork makes a child that is a copy of this process;
// posix_spawn starts another program, spawn_process_child. If each child is joined inside the loop that starts them,
// they run one after another. If all are started before any is joined, they run at the same time, and the children with
// the higher numbers finish first, because they work for a shorter time.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/spawn_process/spawn_process.cpp common/cookbook/*.cpp -lfmt -o spawn_process
// Run:     spawn_process [--children N]       (with spawn_process_child in the same folder)

#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"  // exit_code_of: waits until a child has ended
#include "start_two_ways.hpp"

namespace {

using Start = std::function<pid_t(int)>;

/// One child at a time: each is joined before the next one is started. Returns how many have ended with exit code 0.
int join_inside_the_loop(int children, const Start& start) {
  int good = 0;
  for (int number = 0; number < children; ++number) {
    const pid_t child = start(number);
    good += cookbook::exit_code_of(child) == 0;
  }
  return good;
}

/// All children at the same time.
int join_after_the_loop(int children, const Start& start) {
  std::vector<pid_t> started;
  for (int number = 0; number < children; ++number) started.push_back(start(number));
  int good = 0;
  for (const pid_t child : started) good += cookbook::exit_code_of(child) == 0;
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  int children = 5;
  cookbook::Options options("Start child processes by fork and by posix_spawn, and join them");
  options.add("children", children, "children in each round", 1, 10);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const auto show = [&](const char* name, const Start& start) {
    cookbook::println("by {}, joined inside the loop:", name);
    checks.equal("children with exit code 0", join_inside_the_loop(children, start), children);
    cookbook::println("by {}, joined after the loop:", name);
    checks.equal("children with exit code 0", join_after_the_loop(children, start), children);
  };
  show("fork", start_by_fork);
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();  // the folder of this program
  show("posix_spawn", [&](int number) { return start_by_spawn(folder / "spawn_process_child", number); });

  checks.equal("calls that the parent's own variable has counted", calls, 0);
  checks.that("no child is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  return checks.exit_code();
}
