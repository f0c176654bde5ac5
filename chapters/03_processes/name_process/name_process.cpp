// Name processes
//
// Two children run the same function. The first one gets a name, foo_process; the second one gets none, so it is called
// Process-2, because it is the second child. Each child tells its name to the system, too. The parent reads the names
// in /proc, where ps, top and pgrep read them.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/name_process/name_process.cpp common/cookbook/*.cpp -lfmt -o name_process
// Run:     name_process [--delay-ms N]

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "named_process.hpp"
#include "one_shot_event.hpp"

namespace {

/// What the system says of a process: the file "comm" has its short name, "cmdline" its command line.
std::string read_in_proc(const NamedProcess& process, const char* file) {
  std::ifstream stream(fmt::format("/proc/{}/{}", process.id, file));
  std::string text;
  std::getline(stream, text, '\0');  // each argument of a command line ends with a zero
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine command_line(argc, argv);
  int delay_ms = 50;
  cookbook::Options options("Name processes, for people and for ps");
  options.add("delay-ms", delay_ms, "how long each process works, in ms", 1, 10'000);
  options.parse(argc, argv);

  OneShotEvent foo_works, second_works, foo_may_end, second_may_end;
  const auto work = [&](const OneShotEvent& works, OneShotEvent& may_end) {
    cookbook::println("Starting {}", own_name);
    works.give();
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    may_end.wait();  // a process that has ended has no command line any more
    cookbook::println("Exiting {}", own_name);
  };
  const NamedProcess foo = start_named(command_line, "foo_process", [&] { work(foo_works, foo_may_end); });
  const NamedProcess second = start_named(command_line, "", [&] { work(second_works, second_may_end); });
  foo_works.wait();
  second_works.wait();

  cookbook::Checks checks;
  const std::vector<std::string> names = {foo.name, second.name};
  checks.equal("name of the child that was given none", second.name, "Process-2");
  checks.equal("short names in /proc", std::vector{read_in_proc(foo, "comm"), read_in_proc(second, "comm")}, names);
  checks.equal("command lines in /proc", std::vector{read_in_proc(foo, "cmdline"), read_in_proc(second, "cmdline")},
               names);
  checks.equal("the parent's own name", own_name, "MainProcess");
  foo_may_end.give();
  second_may_end.give();
  checks.equal("exit codes", std::vector{cookbook::exit_code_of(foo.id), cookbook::exit_code_of(second.id)}, {0, 0});
  return checks.exit_code();
}
