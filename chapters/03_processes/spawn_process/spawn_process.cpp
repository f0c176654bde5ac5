// Spawn processes
//
// Five child processes run one function, each with its own number. fork makes a child that is a copy of this process;
// posix_spawn starts a program of its own, spawn_process_child, which gets nothing but its arguments. Joined one by
// one, inside the loop that starts them, the five run in order, one at a time; joined after the loop they run side by
// side. Then: what becomes of a child that nobody joins, what the parent sees of a variable that a child changes, and
// what both ways cost when the parent has much memory.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/spawn_process/spawn_process.cpp common/cookbook/*.cpp -lfmt -o spawn_process
// Run:     spawn_process [--children N] [--mebibytes N]       (with spawn_process_child in the same folder)

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "shared_memory.hpp"
#include "smallest_program.hpp"
#include "spoken_lines.hpp"
#include "start_costs.hpp"
#include "target.hpp"

namespace {

/// A child that is a copy of this process, and calls the function. Returns its process id, in the parent.
pid_t start_by_fork(int id) {
  const pid_t child = check(fork(), "fork");  // from here on there are two of us; the child sees 0
  if (child != 0) return child;
  called_function(id);
  _exit(0);  // without it the child would go on with the rest of the parent's work
}

/// A child that is another program, with one argument; the program calls the function.
pid_t start_by_spawn(std::string program, std::string argument) {
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  check_error(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ),
              ("posix_spawn of " + program).c_str());
  return child;
}

/// How many children the system counts for this process: those that run, and those that nobody has waited for.
int children_now() {
  std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
  return static_cast<int>(std::distance(std::istream_iterator<pid_t>(list), {}));
}

/// What was seen of the children of one round.
struct Round {
  std::vector<int> ids;       // as they said them, in this order
  std::set<pid_t> processes;  // they ran in, this one left out
  int at_the_same_time = 0;   // children of this process, at most
  std::vector<int> exit_codes;
};

using Start = std::function<pid_t(int)>;

/// Runs `count` children and joins each as soon as it is started, or all when the last is started.
Round run_children(int count, bool at_once, const Start& start) {
  Round round;
  std::vector<pid_t> started;
  const auto join = [&](pid_t child) { round.exit_codes.push_back(exit_code_of(child)); };  // by waitpid
  const auto lines = spoken_lines([&] {
    for (int id = 0; id < count; ++id) {
      started.push_back(start(id));
      round.at_the_same_time = std::max(round.at_the_same_time, children_now());
      if (at_once) join(started.back());
    }
    if (!at_once) std::ranges::for_each(started, join);
  });
  round.processes = {started.begin(), started.end()};
  round.processes.erase(getpid());
  for (const std::string& line : lines) round.ids.push_back(std::atoi(line.substr(line.find(':') + 1).c_str()));
  return round;
}

/// The state of a child in the process table: R running, S asleep, Z ended and not joined, "none" if it is not there.
std::string state_of(pid_t child) {
  std::ifstream file(fmt::format("/proc/{}/stat", child));
  std::string number, name, state = "none";
  file >> number >> name >> state;
  return state;
}

int global = 0;

/// A number in three places, raised by a child: what its parent finds there afterwards.
std::vector<int> raised_by_a_child(int number) {
  global = number;
  const Shared<int> shared(number);
  int pipe_ends[2];
  check(pipe2(pipe_ends, O_CLOEXEC), "pipe2");
  const pid_t child = check(fork(), "fork");
  if (child == 0) {
    ++global;   // in the child's own copy
    ++*shared;  // in memory that both have
    check(write(pipe_ends[1], &global, sizeof global), "write");
    _exit(0);
  }
  close(pipe_ends[1]);
  int message = 0;
  check(read(pipe_ends[0], &message, sizeof message), "read");
  close(pipe_ends[0]);
  exit_code_of(child);
  return {global, *shared, message};
}

/// A child that does nothing.
pid_t fork_nothing() {
  const pid_t child = check(fork(), "fork");
  if (child == 0) _exit(0);
  return child;
}

/// The state of a child that has ended, before and after its join.
std::vector<std::string> states_around_a_join() {
  const pid_t child = fork_nothing();
  siginfo_t info{};
  check(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), "waitid");  // waits, and leaves it there
  const std::string ended = state_of(child);
  exit_code_of(child);
  return {ended, state_of(child)};
}

}  // namespace

int main(int argc, char** argv) {
  int children = 5;
  std::size_t mebibytes = 1024;
  cookbook::Options options("Start child processes by fork and by posix_spawn, and join them");
  options.add("children", children, "children in each round", 1, 100);
  options.add("mebibytes", mebibytes, "memory of the largest parent that is measured", 0, 65'536);
  options.parse(argc, argv);

  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = folder / "spawn_process_child";
  const auto by_spawn = [&](int id) { return start_by_spawn(program, std::to_string(id)); };
  std::vector<int> all(static_cast<std::size_t>(children));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> all_zero(all.size());

  cookbook::Checks checks;
  for (const auto& [name, start] : {std::pair<const char*, Start>{"fork", start_by_fork}, {"posix_spawn", by_spawn}}) {
    for (const bool at_once : {true, false}) {
      cookbook::println("By {}, joined {}:", name, at_once ? "at once" : "when all are started");
      Round round = run_children(children, at_once, start);
      if (!at_once) std::ranges::sort(round.ids);
      checks.equal(at_once ? "ids" : "ids, sorted", round.ids, all);
      const int processes = static_cast<int>(round.processes.size());
      checks.equal("child processes, and how many at a time", std::vector{processes, round.at_the_same_time},
                   {children, at_once ? 1 : children});
      checks.equal("exit codes", round.exit_codes, all_zero);
    }
  }

  checks.equal("state of a child that ended, before and after its join", states_around_a_join(), {"Z", "none"});
  checks.equal("a child raised 41: global, shared, by message", raised_by_a_child(41), {41, 42, 42});
  checks.equal("children left", children_now(), 0);
  if (checks.passed()) {
    const smallest::Program smallest;
    print_start_costs(
        mebibytes, [&] { return start_by_spawn(smallest.path(), ""); }, fork_nothing, checks);
  }
  return checks.exit_code();
}
