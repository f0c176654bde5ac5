// A first process
//
// There are two ways to start another program. posix_spawn starts it in a second process, and the program that called
// it goes on. execvp starts it in the place of the program that called it: the process stays, and the program in it
// changes. Here this program, the parent, spawns the caller (first_process_caller), and the caller replaces itself by
// the callee (first_process_callee). Each line begins with the program and the id of its process: two programs share
// one id.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_process/first_process.cpp common/cookbook/*.cpp -lfmt -o first_process
// Run:     first_process [--exit-code N]     (with first_process_caller and first_process_callee in the same folder)

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"

int main(int argc, char** argv) {
  int exit_code = 7;
  cookbook::Options options("Start another program in a second process, and in place of the first");
  // The caller ends with 2 or 3 if it fails.
  options.add("exit-code", exit_code, "what the callee is told to end with", 4, 255);
  options.parse(argc, argv);

  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string caller = folder / "first_process_caller", callee = folder / "first_process_callee";
  std::string number = std::to_string(exit_code);
  char* const arguments[] = {caller.data(), callee.data(), number.data(), nullptr};
  cookbook::println("parent {}: posix_spawn starts the caller in a new process", getpid());
  pid_t child = 0;
  // The null pointers: nothing is to be changed in the new process before the program starts. environ: it gets this
  // program's environment variables. check_error and check end the program with exit code 3 if a call fails.
  check_error(posix_spawn(&child, caller.c_str(), nullptr, nullptr, arguments, environ), "posix_spawn");
  cookbook::println("parent {}: goes on, beside process {}", getpid(), child);

  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");  // waits until process `child` has ended
  cookbook::println("parent {}: process {} has ended", getpid(), child);

  cookbook::Checks checks;
  // WIFEXITED: it has ended by itself, with the exit code WEXITSTATUS. -1: a signal has ended it.
  checks.equal("exit code of the child, set by the callee", WIFEXITED(status) ? WEXITSTATUS(status) : -1, exit_code);
  return checks.exit_code();
}
