// A first process
//
// One program starts another. execvp replaces the caller: the same process goes on as another program, and what stands
// behind the call never runs. posix_spawnp makes a second process, and the caller goes on. Both are seen here from
// outside: this program plays the user who watches caller and callee and presses ENTER. On the way it loses a line that
// was printed and not flushed, calls a program that does not exist, and compares a process with a thread: who sees
// a changed variable, and what it costs to make one.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/01_getting_started chapters/01_getting_started/first_process/first_process.cpp common/cookbook/*.cpp -lfmt -pthread -o first_process
// Run:     first_process [--times N]       (with first_process_callee in the same folder)

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "conversation.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

namespace {

/// Arguments as a C program gets them: an array of pointers, a null pointer at its end. The first is the program's
/// name.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }

  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

/// The caller that replaces itself. It comes back only if that fails; then it returns the error.
int caller_that_execs(const std::string& program, bool flush) {
  setenv("GREETING", "from the caller", 1);
  const int kept = check(open("/dev/null", O_RDONLY), "open");
  const int marked = check(open("/dev/null", O_RDONLY | O_CLOEXEC), "open");
  Arguments arguments({program, "an argument", std::to_string(kept), std::to_string(marked)});

  std::printf("caller %d: Process calling\n", getpid());
  if (flush) std::fflush(stdout);  // else the line is still in this program's memory, and goes down with it
  const int result = execvp(program.c_str(), arguments.data());

  const int error = errno;
  std::printf("caller %d: execvp returned %d, %s\n", getpid(), result, std::strerror(error));
  std::printf("caller %d: Good Bye!!\n", getpid());
  return error;
}

/// The caller that starts a second process and goes on; it returns the callee's exit code, or the error.
int caller_that_spawns(const std::string& program) {
  setenv("GREETING", "from the caller", 1);
  Arguments arguments({program, "an argument"});

  std::printf("caller %d: Process calling\n", getpid());
  std::fflush(stdout);  // not lost otherwise, but printed after the callee's lines
  pid_t callee = 0;
  const int error = posix_spawnp(&callee, program.c_str(), nullptr, nullptr, arguments.data(), environ);

  std::printf("caller %d: Good Bye!!\n", getpid());
  std::fflush(stdout);
  return error != 0 ? error : exit_code_of(callee);
}

/// What the maker of a thread sees of a variable that the thread has set to 1.
int after_a_thread() {
  int variable = 0;
  std::jthread([&] { variable = 1; }).join();
  return variable;
}

/// The same with a process: what the child saw itself, and what its maker sees.
std::vector<int> after_a_process() {
  int variable = 0;
  const pid_t child = check(fork(), "fork");
  if (child == 0) {
    variable = 1;
    _exit(variable);
  }
  return {exit_code_of(child), variable};
}

void make_thread() {
  std::jthread([] {}).join();
}

void make_process() {
  const pid_t child = check(fork(), "fork");
  if (child == 0) _exit(0);
  exit_code_of(child);
}

void make_process_and_exec() {
  const pid_t child = check(fork(), "fork");
  if (child == 0) {
    execlp("true", "true", nullptr);
    _exit(1);  // reached only if there is no such program
  }
  exit_code_of(child);
}

void spawn_process() {
  Arguments arguments({"true"});
  pid_t child = 0;
  check_error(posix_spawnp(&child, "true", nullptr, nullptr, arguments.data(), environ), "posix_spawnp");
  exit_code_of(child);
}

void show(const char* title, const Conversation& heard) {
  cookbook::println("{}", title);
  for (const std::string& line : heard.lines) cookbook::println("  {}", line);
}

}  // namespace

int main(int argc, char** argv) {
  int times = 20;
  cookbook::Options options("Start another program: in place of oneself, and beside oneself");
  options.add("times", times, "processes of each kind that are made to take one time", 1, 1'000'000);
  options.parse(argc, argv);

  // execvp and posix_spawnp look for a program in the folders of PATH; so the folder of this one comes first there.
  const std::string callee = "first_process_callee", prompt = "Press ENTER to exit", farewell = "Good Bye!!";
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  check(access((folder / callee).c_str(), X_OK), callee.c_str());
  const char* const path = std::getenv("PATH");
  setenv("PATH", fmt::format("{}:{}", folder.string(), path != nullptr ? path : "").c_str(), 1);

  cookbook::Checks checks;
  const Conversation exec = talk_to([&] { return caller_that_execs(callee, true); }, {prompt});
  show("The caller replaces itself:", exec);
  checks.equal("the callee has the caller's process id", exec.id_of("callee") == exec.id_of("caller"), true);
  checks.equal("lines of the caller before execvp", exec.count("Process calling"), 1);
  checks.equal("lines of the caller behind execvp", exec.count(farewell), 0);
  checks.equal("argv[0] of the callee", exec.after("argv[0] = "), callee);
  checks.equal("argv[1] of the callee", exec.after("argv[1] = "), "an argument");
  checks.equal("GREETING in the callee's environment", exec.after("GREETING = "), "from the caller");
  const auto descriptor = [&](const char* argument) {
    return exec.after(fmt::format("descriptor {} is ", exec.after(argument)));
  };
  checks.equal("a descriptor of the caller", descriptor("argv[2] = "), "open");
  checks.equal("one marked close-on-exec", descriptor("argv[3] = "), "closed");
  checks.equal("the callee closed before ENTER, after ENTER",
               std::vector{exec.closed_before_enter, static_cast<int>(exec.count("Closing"))}, {0, 1});

  const Conversation spawn = talk_to([&] { return caller_that_spawns(callee); }, {prompt, farewell});
  show("The caller starts a second process:", spawn);
  checks.equal("the callee has the caller's process id", spawn.id_of("callee") == spawn.id_of("caller"), false);
  checks.equal("the caller is the callee's parent", spawn.id_of("parent is") == spawn.id_of("caller"), true);
  checks.equal("lines of the caller behind posix_spawnp", spawn.count(farewell), 1);
  checks.equal("the callee was still there then", spawn.closed_before_enter == 0 && spawn.count("Closing") == 1, true);
  checks.equal("exit code that the caller got from the callee", spawn.exit_code, 0);

  const Conversation unflushed = talk_to([&] { return caller_that_execs(callee, false); }, {prompt});
  checks.equal("lines of the caller before execvp, not flushed", unflushed.count("Process calling"), 0);
  checks.equal("lines of the callee then", unflushed.count("callee "), exec.count("callee "));

  const Conversation no_such = talk_to([&] { return caller_that_execs("no_such_program", true); }, {});
  checks.equal("execvp of no_such_program", no_such.after("execvp "), "returned -1, No such file or directory");
  checks.equal("lines of the caller behind it", no_such.count(farewell), 1);
  checks.equal("the error is ENOENT", no_such.exit_code == ENOENT, true);
  const Conversation no_spawn = talk_to([&] { return caller_that_spawns("no_such_program"); }, {});
  checks.equal("posix_spawnp of it gives the same error", no_spawn.exit_code == ENOENT, true);

  checks.equal("a variable set to 1 by a thread, as its maker sees it", after_a_thread(), 1);
  checks.equal("by a process, as that and as its maker sees it", after_a_process(), {1, 0});

  cookbook::Figures figures("made and waited for", cookbook::cost("us", 1e-6));
  const auto row = [&](const char* name, void (*make)()) {
    return cookbook::Row(name, times, [=] {
      for (int i = 0; i < times; ++i) make();
    });
  };
  figures.measure({row("thread", make_thread), row("process by fork", make_process),
                   row("process by fork, then execvp of `true`", make_process_and_exec),
                   row("process by posix_spawnp of `true`", spawn_process)},
                  9);
  figures.print(checks);
  return checks.exit_code();
}
