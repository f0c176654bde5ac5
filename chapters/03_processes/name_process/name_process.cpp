// Name processes
//
// What is a process called? Four children are made: one by start_child alone, which calls fork, and three with names,
// of which the program has chosen one itself and one is too long. Each child tells its own name, and the parent reads
// in /proc what the system says: the short name, which top and pgrep show, and the command line, which ps -f shows.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/name_process/name_process.cpp common/cookbook/*.cpp -lfmt -o name_process
// Run:     name_process [--delay-ms N]

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
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
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  text.erase(text.find_last_not_of(std::string{'\n', '\0'}) + 1);
  std::replace(text.begin(), text.end(), '\0', ' ');  // each argument of a command line ends with a zero
  return text;
}

struct Names {
  std::string own, short_name, command_line;
  bool operator==(const Names&) const = default;
};

Names print_row(const char* process, const Names& names) {
  static const std::string folder(program_invocation_name, program_invocation_short_name);  // of this program
  const std::size_t left_out = names.command_line.starts_with(folder) ? folder.size() : 0;
  cookbook::println("{:<28}{:<19}{:<19}{}", process, names.own, names.short_name, names.command_line.substr(left_out));
  return names;
}

/// A child, which tells its own name through shared memory, and ends when it may.
struct Child {
  OneShotEvent works, may_end;
  Shared<std::array<char, 64>> told_name;
  pid_t id = 0;

  void work(std::chrono::milliseconds delay) {
    own_name.copy(told_name->data(), told_name->size() - 1);
    works.give();
    std::this_thread::sleep_for(delay);
    may_end.wait();  // a process that has ended has no command line any more
  }

  /// Prints the names of the child, which was started with this id, when it works; none if it has ended before.
  Names print_names(const char* description, pid_t started) {
    id = started;
    if (!works.wait()) return print_row(description, {});
    return print_row(description, {told_name->data(), read_in_proc(id, "comm"), read_in_proc(id, "cmdline")});
  }

  /// Lets it end, and returns its exit code.
  int end() {
    may_end.give();
    return cookbook::exit_code_of(id);
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

  cookbook::println("                            own name           short name         command line");
  const Names parent =
      print_row("the parent", {own_name, read_in_proc(getpid(), "comm"), read_in_proc(getpid(), "cmdline")});

  // Each child gets its pipes when those before it work. So none of them has a copy of the end by which a later one
  // gives its sign, and a child that ends before its sign is noticed.
  Child plain;
  const pid_t plain_id = cookbook::start_child([&] { plain.work(delay); });
  const Names unnamed = plain.print_names("a child of start_child", plain_id);
  Child foo;
  const pid_t foo_id = start_named(command_line, "foo_process", [&] { foo.work(delay); }).id;
  const Names foos = foo.print_names("a child named foo_process", foo_id);
  Child second;
  const pid_t second_id = start_named(command_line, "", [&] { second.work(delay); }).id;
  const Names defaults = second.print_names("a child with default name", second_id);
  Child third;
  const pid_t third_id = start_named(command_line, "image_converter_2", [&] { third.work(delay); }).id;
  const Names longs = third.print_names("a child with a long name", third_id);
  const std::vector exit_codes = {plain.end(), foo.end(), second.end(), third.end()};

  cookbook::Checks checks;
  checks.that("the child of start_child is called as its parent is", unnamed == parent);
  checks.equal("own names", std::vector{parent.own, foos.own, defaults.own, longs.own},
               {"MainProcess", "foo_process", "Process-2", "image_converter_2"});
  checks.equal("short names", std::vector{foos.short_name, defaults.short_name, longs.short_name},
               {"foo_process", "Process-2", "image_converter"});
  checks.equal("command lines", std::vector{foos.command_line, defaults.command_line, longs.command_line},
               {"foo_process", "Process-2", "image_converter_2"});
  checks.equal("exit codes of the children", exit_codes, {0, 0, 0, 0});
  return checks.exit_code();
}
