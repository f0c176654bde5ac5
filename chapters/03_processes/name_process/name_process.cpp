// Name processes
//
// Two children say when they start and when they exit, each under a name: foo_process, and Process-2, which is what the
// second of all processes is called that are given none. The system knows the names, too: this program reads them from
// /proc, where ps, top and pgrep find them. Then the same with foo_process as a daemon, which is ended when its main
// program is done, as in the source, where its exit line cannot come; and how long a name may be.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/name_process/name_process.cpp common/cookbook/*.cpp -lfmt -o name_process
// Run:     name_process [--delay-ms N]       (with name_process_child in the same folder)

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "named_program.hpp"
#include "names.hpp"
#include "shared_memory.hpp"

namespace {

std::string own_name = "MainProcess";  // each process has its own
int processes_made = 0;                // by this process, with a name or without

struct Process {
  pid_t id;
  std::string name;
};

/// Starts a child that takes a name before it does `work`: the one given, or Process-N if it is this process's Nth.
template <typename Work>
Process start_process(const CommandLine& command_line, Work work, std::string name = "") {
  ++processes_made;
  if (name.empty()) name = fmt::format("Process-{}", processes_made);
  const pid_t id = start_child([&] {  // by fork
    own_name = name;
    processes_made = 0;
    set_short_name(name);
    command_line.set(name);
    work();
  });
  return {id, name};
}

/// What a child says of itself, in one piece.
struct Greeting {
  int number = 0;
  char name[16] = "";
};

/// What was seen of two children: the names that they were given, that they saw themselves, and that the system shows.
struct Seen {
  std::vector<std::string> given, inside{2}, short_names, command_lines;
  std::vector<int> exit_codes;
};

/// Runs foo_process and a process without a name, at the same time, each of which serves for `delay`. A daemon is not
/// waited for: it is ended, by SIGTERM, when its main program has no more to do.
Seen serve(const CommandLine& command_line, std::chrono::milliseconds delay, bool first_is_daemon) {
  processes_made = 0;  // as if this were a program of its own
  int greetings[2], names_read[2];
  check(pipe2(greetings, O_CLOEXEC), "pipe2");
  check(pipe2(names_read, O_CLOEXEC), "pipe2");
  const auto work = [&](int number) {
    close(names_read[1]);
    cookbook::println("Starting {}", own_name);
    Greeting greeting{.number = number};
    own_name.copy(greeting.name, sizeof greeting.name - 1);
    check(write(greetings[1], &greeting, sizeof greeting), "write");
    close(greetings[1]);
    char nothing = 0;
    check(read(names_read[0], &nothing, 1), "read");  // comes back when main has closed the pipe
    std::this_thread::sleep_for(delay);
    cookbook::println("Exiting {}", own_name);
  };
  const std::array processes = {start_process(
                                    command_line, [&] { work(0); }, "foo_process"),
                                start_process(command_line, [&] { work(1); })};
  close(greetings[1]);

  Seen seen;
  for (Greeting greeting; check(read(greetings[0], &greeting, sizeof greeting), "read") == sizeof greeting;) {
    seen.inside[static_cast<std::size_t>(greeting.number)] = greeting.name;
  }
  for (const Process& process : processes) {
    seen.given.push_back(process.name);
    seen.short_names.push_back(text_in_proc(process.id, "comm"));
    seen.command_lines.push_back(text_in_proc(process.id, "cmdline"));
  }
  if (first_is_daemon) check(kill(processes[0].id, SIGTERM), "kill");
  close(names_read[0]);
  close(names_read[1]);
  close(greetings[0]);
  for (const Process& process : processes) seen.exit_codes.push_back(exit_code_of(process.id));
  return seen;
}

/// The short name and the command line of a child that takes a name, as it finds them in /proc itself.
std::vector<std::string> names_of_child_called(const CommandLine& command_line, const std::string& name) {
  const Shared<std::array<std::array<char, 64>, 2>> found;
  const Process child = start_process(
      command_line,
      [&] {
        text_in_proc(getpid(), "comm").copy((*found)[0].data(), 63);
        text_in_proc(getpid(), "cmdline").copy((*found)[1].data(), 63);
      },
      name);
  exit_code_of(child.id);
  return {(*found)[0].data(), (*found)[1].data()};
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine command_line(argc, argv);
  const std::string own_short_name = short_name();
  int delay_ms = 50;
  cookbook::Options options("Name processes, for people and for ps");
  options.add("delay-ms", delay_ms, "how long each process serves, in ms", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds delay(delay_ms);
  const auto cut = [&](const std::string& name) { return name.substr(0, command_line.characters()); };

  cookbook::println("Both joined:");
  const cookbook::Stopwatch watch;
  const Seen joined = serve(command_line, delay, false);
  const double took_ms = watch.seconds() * 1e3;
  cookbook::println("two processes of {} ms took {:.0f} ms", delay_ms, took_ms);

  cookbook::Checks checks;
  const std::vector<std::string> names = {"foo_process", "Process-2"};
  checks.that("that is one delay or more", took_ms >= delay_ms);
  checks.equal("names", joined.given, names);
  checks.equal("names seen inside", joined.inside, names);
  checks.equal("short names in /proc", joined.short_names, names);
  checks.equal("command lines in /proc", joined.command_lines, {cut(names[0]), cut(names[1])});
  checks.equal("exit codes", joined.exit_codes, {0, 0});

  cookbook::println("The first is a daemon:");
  const Seen first_ended = serve(command_line, delay, true);
  checks.equal("names", first_ended.inside, names);
  checks.equal("exit codes", first_ended.exit_codes, {-SIGTERM, 0});

  checks.equal("the parent's own names", std::vector{own_name, short_name()}, {"MainProcess", own_short_name});
  const std::string long_name = "sixteen_letters!";
  checks.equal("a name of 16 letters: short, command line", names_of_child_called(command_line, long_name),
               {"sixteen_letters", cut(long_name)});
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  checks.equal("a program under another name: short, command line, argv[0]",
               names_of_program_called(folder / "name_process_child", "foo_process"),
               {"name_process_ch", "foo_process", "foo_process"});
  return checks.exit_code();
}
