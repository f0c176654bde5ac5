// A first process
//
// There are two ways to start another program. posix_spawn starts it in a second process, and the program that called
// it goes on: here it adds a million numbers meanwhile. execvp starts it in the place of the program that called it:
// the process stays, and the program in it changes. Here this program, the parent, spawns the caller
// (first_process_caller), and the caller replaces itself by the callee (first_process_callee). Each line begins with
// the program and the id of its process: two programs share one id.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_process/first_process.cpp common/cookbook/*.cpp -lfmt -o first_process
// Run:     first_process [--exit-code N]     (with first_process_caller and first_process_callee in the same folder)

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"

namespace {

/// Starts a program in a new process. Returns 0 or the error's number; on success `child` is the process's id.
int spawn(pid_t& child, const std::string& program, char* const arguments[]) {
  // The null pointers: nothing is to be changed in the new process before the program starts, neither its files nor its
  // attributes. environ: it gets this program's environment variables.
  return posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ);
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 7;
  cookbook::Options options("Start another program in a second process, and in place of the first");
  // From 4 on, since smaller ones have other meanings: 3, for example, says that the caller failed.
  options.add("exit-code", exit_code, "what the callee is told to end with", 4, 255);
  options.parse(argc, argv);

  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string caller = folder / "first_process_caller", callee = folder / "first_process_callee";
  std::string number = std::to_string(exit_code);
  char* const arguments[] = {caller.data(), callee.data(), number.data(), nullptr};
  cookbook::println("parent {}: posix_spawn starts the caller in a new process", getpid());
  const cookbook::Stopwatch watch;
  pid_t child = 0;
  check_error(spawn(child, caller, arguments), "posix_spawn");
  const double started = watch.seconds();  // posix_spawn has returned, and the parent works while the new process runs
  long sum = 0;
  for (long i = 1; i <= 1'000'000; ++i) {
    sum += i;
    cookbook::do_not_optimize(sum);  // or the compiler would use a formula instead of the loop
  }
  const double added = watch.seconds();

  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");  // until process `child` has ended. check: exit 3 if the call fails
  const double ended = watch.seconds();
  cookbook::println("parent {}: posix_spawn returned after {:.2f} ms", getpid(), started * 1000);
  cookbook::println("parent {}: sum of 1 to 1000000, ready after {:.2f} ms: {}", getpid(), added * 1000, sum);
  cookbook::println("parent {}: waitpid returned after {:.2f} ms, process {} has ended", getpid(), ended * 1000, child);
  pid_t none = 0;
  const int error = spawn(none, folder / "no_such_program", arguments);

  cookbook::Checks checks;
  // WIFEXITED: it has ended by itself, with the exit code WEXITSTATUS. -1: a signal has ended it.
  checks.equal("exit code of that process, given by the callee", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
               exit_code);
  checks.equal("posix_spawn of a program that is not there", std::string(std::strerror(error)),
               "No such file or directory");
  return checks.exit_code();
}
