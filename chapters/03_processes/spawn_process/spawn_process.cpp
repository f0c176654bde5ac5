// Spawn processes
//
// Where does the join belong? Five child processes run one function, the first of them for the longest time. If each is
// joined inside the loop that starts them, they run one after another. If all are started before any is joined, they
// run at the same time. Both loops are run with children made by fork, which are copies of this process, and with
// children made by posix_spawn, which run another program. The program prints in which order they ended, and the time.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/spawn_process/spawn_process.cpp common/cookbook/*.cpp -lfmt -o spawn_process
// Run:     spawn_process [--children N]       (with spawn_process_child in the same folder)

#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "start_two_ways.hpp"

namespace {

using Start = std::function<pid_t(int)>;
using Numbers = std::vector<int>;  // of the children, in the order in which they ended

/// One child at a time: each is joined before the next one is started.
Numbers join_inside_the_loop(int children, const Start& start, int& failed) {
  Numbers ended;
  for (int number = 0; number < children; ++number) {
    const pid_t child = start(number);
    int status = 0;
    check(waitpid(child, &status, 0), "waitpid");  // waits for this child
    failed += status != 0;
    ended.push_back(number);
  }
  return ended;
}

/// All children at the same time.
Numbers join_after_the_loop(int children, const Start& start, int& failed) {
  std::vector<pid_t> started;
  for (int number = 0; number < children; ++number) started.push_back(start(number));
  Numbers ended;
  for (int i = 0; i < children; ++i) {
    int status = 0;
    const pid_t child = check(waitpid(-1, &status, 0), "waitpid");  // waits for any child
    failed += status != 0;
    ended.push_back(static_cast<int>(std::find(started.begin(), started.end(), child) - started.begin()));
  }
  return ended;
}

/// Starts children in this way by both loops. Prints for each in which order they ended, and the time.
void print_row(const char* way, int children, const Start& start, int& failed) {
  std::string row;
  for (const auto& loop : {join_inside_the_loop, join_after_the_loop}) {
    const cookbook::Stopwatch watch;
    const Numbers ended = loop(children, start, failed);
    row += fmt::format("   {:<9}{:9.1f} ms", fmt::to_string(fmt::join(ended, " ")), watch.seconds() * 1e3);
  }
  cookbook::println("{:<11}{}", way, row);
}

}  // namespace

int main(int argc, char** argv) {
  int children = 5;
  cookbook::Options options("Start child processes by fork and by posix_spawn, and join them");
  options.add("children", children, "children in each round", 1, 10);
  options.parse(argc, argv);

  int failed = 0;
  const std::string child_program = cookbook::beside_this_program("spawn_process_child");
  cookbook::println("             joined inside the loop   joined after the loop");
  print_row("fork", children, start_by_fork, failed);
  print_row(
      "posix_spawn", children, [&](int number) { return start_by_spawn(child_program, number); }, failed);

  cookbook::Checks checks;
  checks.equal("children that failed", failed, 0);
  checks.equal("calls that the parent's own variable has counted", calls, 0);
  checks.that("no child is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  return checks.exit_code();
}
