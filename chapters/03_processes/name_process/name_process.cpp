// Name processes
//
// What is a process called? A child that takes no name is called as its parent. Two others take names, one of them too
// long for a short name. The parent reads in /proc what ps shows: the short name (comm) and the command line (cmdline).
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
  std::string comm, cmdline;
  bool operator==(const Names&) const = default;
};

/// Prints and returns the names that a process has.
Names print_row(const char* description, const std::string& taken, pid_t process) {
  static const std::string folder(program_invocation_name, program_invocation_short_name);  // of this program
  const Names names{read_in_proc(process, "comm"), read_in_proc(process, "cmdline")};
  const std::size_t left_out = names.cmdline.starts_with(folder) ? folder.size() : 0;
  cookbook::println("{:<28}{:<19}{:<19}{}", description, taken, names.comm, names.cmdline.substr(left_out));
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
      cookbook::println("ready");  // to the parent, which must not look before
      pause();
    });
    child.read_line();
    return print_row(description, name.empty() ? "-" : name, child.pid());
  };
  const auto expected = [&](const std::string& name) {
    return Names{name.substr(0, 15), name.substr(0, command_line.room())};
  };

  cookbook::println("                            name it takes      comm               cmdline");
  const Names parent = print_row("the parent", "-", getpid());
  const bool as_parent = names_of_child("a child that takes no name", "") == parent;
  int different = names_of_child("a child with a short name", "foo_process") != expected("foo_process");
  different += names_of_child("a child with a long name", "image_converter_2") != expected("image_converter_2");
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));

  cookbook::Checks checks;
  checks.that("a child that takes no name is called as its parent is", as_parent);
  checks.equal("children that have other names than they took", different, 0);
  return checks.exit_code();
}
