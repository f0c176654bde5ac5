// Name processes
//
// What is a process called? A child that takes no name is called as its parent. Two others take names, one of them too
// long for a short name. Each child tells its own name, and the parent reads in /proc what ps shows: the short name
// (comm) and the command line (args).
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/name_process/name_process.cpp common/cookbook/*.cpp -lfmt -o name_process
// Run:     name_process [--delay-ms N]

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <list>
#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "named_process.hpp"

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
  std::string own, comm, args;
  bool operator==(const Names&) const = default;
};

Names print_row(const char* description, const Names& names) {
  static const std::string folder(program_invocation_name, program_invocation_short_name);  // of this program
  const std::size_t left_out = names.args.starts_with(folder) ? folder.size() : 0;
  cookbook::println("{:<28}{:<19}{:<19}{}", description, names.own, names.comm, names.args.substr(left_out));
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine command_line(argc, argv);
  int delay_ms = 10;
  cookbook::Options options("Name processes, for people and for ps");
  options.add("delay-ms", delay_ms, "how long the children stay, in ms", 1, 10'000);
  options.parse(argc, argv);

  std::list<cookbook::ChildProcess> children;  // killed when the list goes
  const auto names_of_child = [&](const char* description, const std::string& name) {
    cookbook::ChildProcess& child = children.emplace_back([&] {
      if (!name.empty()) take_name(command_line, name);
      cookbook::println("{}", own_name);  // to the parent, which need not look before
      pause();
    });
    const std::string own = child.read_line();
    return print_row(description, {own, read_in_proc(child.pid(), "comm"), read_in_proc(child.pid(), "cmdline")});
  };
  const auto expected = [&](const std::string& name) {
    return Names{name, name.substr(0, 15), name.substr(0, command_line.room())};
  };

  cookbook::println("                            own name           ps -o comm         ps -o args");
  const Names parent =
      print_row("the parent", {own_name, read_in_proc(getpid(), "comm"), read_in_proc(getpid(), "cmdline")});
  const bool as_parent = names_of_child("a child that takes no name", "") == parent;
  int different = names_of_child("a child with a short name", "foo_process") != expected("foo_process");
  different += names_of_child("a child with a long name", "image_converter_2") != expected("image_converter_2");
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));

  cookbook::Checks checks;
  checks.that("a child that takes no name is called as its parent is", as_parent);
  checks.equal("children that have other names than they took", different, 0);
  return checks.exit_code();
}
