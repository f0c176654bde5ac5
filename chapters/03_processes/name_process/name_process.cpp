// Name processes
//
// What is a process called? Four children are made: one by plain fork, and three with names, of which the program has
// chosen one itself and one is very long. Each child tells its own name, and the parent reads in /proc what the system
// says: the short name, which top and pgrep show, and the command line, which ps -f shows.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/name_process/name_process.cpp common/cookbook/*.cpp -lfmt -o name_process
// Run:     name_process [--delay-ms N]

#include <array>
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
#include "shared_memory.hpp"

namespace {

/// What the system says of a process: the file "comm" has its short name, "cmdline" its command line.
std::string read_in_proc(pid_t process, const char* file) {
  std::ifstream stream(fmt::format("/proc/{}/{}", process, file));
  std::string text;
  std::getline(stream, text, '\0');  // each argument of a command line ends with a zero
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

using Names = std::vector<std::string>;  // its own name, the short name, the command line

Names print_row(const char* process, const Names& names) {
  const std::string last = names[2].substr(names[2].rfind('/') + 1);  // without the folder of the program
  cookbook::println("{:<28}{:<19}{:<19}{}", process, names[0], names[1], last);
  return names;
}

/// A child, which tells its own name, and ends when it may.
struct Child {
  OneShotEvent works, may_end;
  Shared<std::array<char, 64>> told_name;

  void work(std::chrono::milliseconds delay) {
    own_name.copy(told_name->data(), told_name->size() - 1);
    works.give();
    std::this_thread::sleep_for(delay);
    may_end.wait();  // a process that has ended has no command line any more
  }

  /// Prints the names of the child with this id, when it works. Then lets it end.
  Names print_names(const char* description, pid_t id) {
    works.wait();
    const Names names =
        print_row(description, {told_name->data(), read_in_proc(id, "comm"), read_in_proc(id, "cmdline")});
    may_end.give();
    cookbook::exit_code_of(id);
    return names;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const CommandLine command_line(argc, argv);
  int delay_ms = 10;
  cookbook::Options options("Name processes, for people and for ps");
  options.add("delay-ms", delay_ms, "how long each process works, in ms", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds delay(delay_ms);

  Child plain, foo, nameless, lengthy;  // all of them work at the same time
  const pid_t plain_id = cookbook::start_child([&] { plain.work(delay); });
  const pid_t foo_id = start_named(command_line, "foo_process", [&] { foo.work(delay); }).id;
  const pid_t nameless_id = start_named(command_line, "", [&] { nameless.work(delay); }).id;
  const pid_t lengthy_id = start_named(command_line, "image_converter_2", [&] { lengthy.work(delay); }).id;

  cookbook::println("                            own name           short name         command line");
  const Names parent =
      print_row("the parent", {own_name, read_in_proc(getpid(), "comm"), read_in_proc(getpid(), "cmdline")});
  const Names unnamed = plain.print_names("a child of plain fork", plain_id);
  const Names foos = foo.print_names("a child named foo_process", foo_id);
  const Names defaults = nameless.print_names("a child without a name", nameless_id);
  const Names cut = lengthy.print_names("a child with a long name", lengthy_id);

  cookbook::Checks checks;
  checks.that("the child of plain fork is called as its parent is", unnamed == parent);
  checks.equal("own names", std::vector{parent[0], foos[0], defaults[0]}, {"MainProcess", "foo_process", "Process-2"});
  checks.equal("short names", std::vector{foos[1], defaults[1], cut[1]},
               {"foo_process", "Process-2", "image_converter"});
  checks.equal("command lines", std::vector{foos[2], defaults[2], cut[2]},
               {"foo_process", "Process-2", "image_converter_2"});
  return checks.exit_code();
}
