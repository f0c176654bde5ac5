// Spawn processes
//
// Where does the join belong? Five child processes run one function, the first of them for the longest time. If each is
// joined inside the loop that starts them, they run one after another, and their times add up. If all are started
// before any is joined, they run at the same time, and the longest counts. The program prints from when to when the
// parent had each child, from its start to its join, and what to expect of all. These children are made by fork, so
// they are copies of this process. Below are the times of children made by posix_spawn, which run another program, and
// of children that compute, so that each needs a core.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/spawn_process/spawn_process.cpp common/cookbook/*.cpp -lfmt -o spawn_process
// Run:     spawn_process [--children N]       (with spawn_process_child in the same folder)

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

/// From when to when the parent had a child, in ms since the loop began.
struct Span {
  double started, joined;
};

/// One child at a time: each is joined before the next one is started.
std::vector<Span> join_inside_the_loop(int children, const Start& start, int& failed) {
  const cookbook::Stopwatch watch;
  std::vector<Span> spans;
  for (int number = 0; number < children; ++number) {
    spans.push_back({watch.seconds() * 1e3, 0});
    const pid_t child = start(number);
    int status = 0;
    check(waitpid(child, &status, 0), "waitpid");  // waits for this child
    failed += status != 0;
    spans[number].joined = watch.seconds() * 1e3;
  }
  return spans;
}

/// All children at the same time.
std::vector<Span> join_after_the_loop(int children, const Start& start, int& failed) {
  const cookbook::Stopwatch watch;
  std::vector<Span> spans;
  std::vector<pid_t> started;
  for (int number = 0; number < children; ++number) {
    spans.push_back({watch.seconds() * 1e3, 0});
    started.push_back(start(number));
  }
  for (int i = 0; i < children; ++i) {
    int status = 0;
    const pid_t child = check(waitpid(-1, &status, 0), "waitpid");  // waits for any child
    failed += status != 0;
    const auto number = std::find(started.begin(), started.end(), child) - started.begin();  // which of them it was
    spans[number].joined = watch.seconds() * 1e3;
  }
  return spans;
}

/// The time of the last join.
double end_of(const std::vector<Span>& spans) {
  double end = 0;
  for (const Span& span : spans) end = std::max(end, span.joined);
  return end;
}

}  // namespace

int main(int argc, char** argv) {
  int children = 5;
  cookbook::Options options("Start child processes by fork and by posix_spawn, and join them");
  options.add("children", children, "children in each round", 1, 10);
  options.parse(argc, argv);

  int failed = 0;
  const std::string child_program = cookbook::beside_this_program("spawn_process_child");
  const auto by_spawn = [&](int number) { return start_by_spawn(child_program, number); };

  const std::vector<Span> inside = join_inside_the_loop(children, start_by_fork, failed);
  const std::vector<Span> after = join_after_the_loop(children, start_by_fork, failed);
  cookbook::println("{:<24}{:>24}{:>26}", "children by fork", "joined inside the loop", "joined after the loop");
  int sum = 0;
  for (int i = 0; i < children; ++i) {
    sum += work_of(i);
    cookbook::println("child {}, {:>2} ms of work  {:8.1f} ms to {:6.1f} ms  {:8.1f} ms to {:6.1f} ms", i, work_of(i),
                      inside[i].started, inside[i].joined, after[i].started, after[i].joined);
  }
  const auto print_all = [](const char* what, double inside_the_loop, double after_the_loop) {
    cookbook::println("{:<30}{:15.1f} ms{:23.1f} ms", what, inside_the_loop, after_the_loop);
  };
  print_all("expected: the sum, the longest", sum, work_of(0));
  print_all("all, by fork", end_of(inside), end_of(after));
  const double inside_by_spawn = end_of(join_inside_the_loop(children, by_spawn, failed));
  const double after_by_spawn = end_of(join_after_the_loop(children, by_spawn, failed));
  print_all("all, by posix_spawn", inside_by_spawn, after_by_spawn);
  computing = true;
  const double inside_computing = end_of(join_inside_the_loop(children, start_by_fork, failed));
  const double after_computing = end_of(join_after_the_loop(children, start_by_fork, failed));
  print_all("all, by fork, computing", inside_computing, after_computing);

  cookbook::Checks checks;
  checks.equal("children that failed", failed, 0);
  checks.equal("calls counted by the children that the parent sees", calls, 0);
  checks.that("no child is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  return checks.exit_code();
}
