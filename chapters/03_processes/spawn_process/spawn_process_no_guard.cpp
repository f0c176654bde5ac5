// Pitfall: a child that starts children
//
// The child is this same program, started once more. A test of its arguments should keep it from the loop that starts
// five children, but it does not: so each child starts five children of its own. This program stops at the second
// generation; without that, the number of processes would grow until the system refuses to make another one.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/spawn_process/spawn_process_no_guard.cpp common/cookbook/*.cpp -lfmt -o spawn_process_no_guard
// Run:     spawn_process_no_guard
// Symptom: exit 1, prints "30 children instead of 5"

#include <filesystem>

#include "cookbook/process.hpp"
#include "start_two_ways.hpp"

int main(int argc, char**) {
  const int generation = argc - 1;  // 0: started by the user; each generation has one argument more
  if (generation > 0) cookbook::println("a child of generation {}", generation);
  if (generation == 2) return 0;  // wrong: lets generation 1 through

  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  int children = 0;  // and their children, who are counted in their exit codes
  for (int i = 0; i < 5; ++i) {
    std::string program = self, first = "child", second = "child";
    // One argument more than this process has; only their number counts.
    char* const arguments[] = {program.data(), first.data(), generation == 1 ? second.data() : nullptr, nullptr};
    pid_t child = 0;
    check_error(posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ), "posix_spawn");
    children += 1 + cookbook::exit_code_of(child);
  }
  if (generation > 0) return children;
  cookbook::println("{} children{}", children, children == 5 ? "" : " instead of 5");
  return children == 5 ? 0 : 1;
}
