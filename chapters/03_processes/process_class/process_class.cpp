// Process as a class
//
// The base class Process starts, names, joins and cleans up. What a process does stands in run() of a derived class,
// which the child calls. The child works on a copy of the object: it has all that the constructor was given, but what
// it changes is lost when it ends.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/process_class/process_class.cpp common/cookbook/*.cpp -lfmt -o process_class
// Run:     process_class [--processes N]

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "process.hpp"

namespace {

class MyProcess : public Process {
 public:
  int run() override {
    cookbook::println("called run method in process: {}", name());
    return 0;
  }
};

/// A process with arguments, which are its members, and a result, which is its exit code.
struct Adder : public Process {
  int a, b, runs = 0;

  Adder(int first, int second) : a(first), b(second) {}

  int run() override {
    ++runs;
    return a + b;
  }
};

class Sleeper : public Process {
 public:
  int run() override {
    sleep(60);
    return 0;
  }
};

}  // namespace

int main(int argc, char** argv) {
  int processes = 5;
  cookbook::Options options("Write a process as a class with a run method");
  options.add("processes", processes, "processes that are started one after another", 1, 1'000);
  options.parse(argc, argv);

  int good = 0;
  for (int i = 0; i < processes; ++i) {
    MyProcess process;
    process.start();
    good += process.join() == 0;
  }

  cookbook::Checks checks;
  checks.equal("processes with exit code 0", good, processes);

  Adder adder(40, 2);
  adder.start();
  checks.equal("exit code of " + adder.name() + ", which adds 40 and 2", adder.join(), 42);
  checks.equal("runs that the parent's object has counted after start()", adder.runs, 0);
  adder.run();  // an ordinary call, in this process
  checks.equal("runs that it has counted after a direct call of run()", adder.runs, 1);

  {
    Sleeper forgotten;  // nobody joins it
    forgotten.start();
  }
  checks.that("no child is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  return checks.exit_code();
}
