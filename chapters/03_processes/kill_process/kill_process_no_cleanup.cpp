// Pitfall: a killed child does not clean up
//
// The child makes a file, and an object whose destructor removes it. SIGTERM ends the child between any two
// instructions: no destructor runs, and the file is still there. The same happens to a lock in shared memory, which
// stays locked, and to half a record in a pipe.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/kill_process/kill_process_no_cleanup.cpp common/cookbook/*.cpp -lfmt -o kill_process_no_cleanup
// Run:     kill_process_no_cleanup
// Symptom: exit 1, prints "the file of the child is still there"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "cookbook/process.hpp"
#include "one_shot_event.hpp"

int main() {
  struct File {
    std::string path = std::filesystem::temp_directory_path() / "kill_process.XXXXXX";
    File() { close(check(mkstemp(path.data()), "mkstemp")); }
    ~File() { std::filesystem::remove(path); }
  };
  OneShotEvent begun;
  int path_pipe[2];
  check(pipe(path_pipe), "pipe");
  const pid_t child = cookbook::start_child([&] {  // wrong: no handler for SIGTERM
    const File file;
    check(write(path_pipe[1], file.path.data(), file.path.size()), "write");
    begun.give();
    sleep(60);  // its work
  });
  begun.wait();
  std::string path(4096, '\0');
  path.resize(check(read(path_pipe[0], path.data(), path.size()), "read"));

  check(kill(child, SIGTERM), "kill");
  cookbook::exit_code_of(child);
  const bool left = std::filesystem::remove(path);
  cookbook::println("the file of the child is {}", left ? "still there" : "gone");
  return left ? 1 : 0;
}
