// Spawn processes, without a guard
//
// The child here is this program once more, as with Python's "spawn" method, where a child imports the main script
// again. It runs the function, as it should, and then goes on to the lines that start five children. So do they. A
// brake stops the children's children; without it the number of processes would grow until the system refuses.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/spawn_process/spawn_process_no_guard.cpp common/cookbook/*.cpp -lfmt -o spawn_process_no_guard
// Run:     spawn_process_no_guard
// Symptom: exit 1, prints "processes instead of 5"

#include <errno.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "child.hpp"
#include "cookbook/print.hpp"
#include "spoken_lines.hpp"
#include "target.hpp"

namespace {

/// Starts this program with two arguments, which make it a child, and waits for its end.
void start_and_join(int id, int generation) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe"), number = std::to_string(id),
              level = std::to_string(generation);
  char* const arguments[] = {program.data(), number.data(), level.data(), nullptr};
  pid_t child = 0;
  check_error(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), "posix_spawn");
  exit_code_of(child);
}

void start_five(int generation) {
  for (int id = 0; id < 5; ++id) start_and_join(id, generation);
}

}  // namespace

int main(int argc, char** argv) {
  const int generation = argc == 3 ? std::atoi(argv[2]) : 0;
  if (generation > 0) {
    called_function(std::atoi(argv[1]));
    if (generation < 2) start_five(generation + 1);  // the mistake: here stands `return 0`, and nothing else
    return 0;
  }
  const std::size_t processes = spoken_lines([] { start_five(1); }).size();
  if (processes == 5) return 0;
  cookbook::println("{} processes instead of 5", processes);
  return 1;
}
