// Process as a class
//
// The base class Process starts, names, joins and cleans up. What a process does stands in run() of a derived class,
// which the child calls. But the child has a copy of the object. Whose members does run() change, then? The program
// prints the members of an object in the parent and in its child, and how long the destructor takes to end a sleeping
// child.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_class/process_class.cpp common/cookbook/*.cpp -lfmt -o process_class
// Run:     process_class [--a N] [--b N]

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "one_shot_event.hpp"
#include "process.hpp"

namespace {

/// A process with arguments, which are its members, and a result, which is its exit code.
struct Adder : public Process {
  int a, b, runs = 0;

  Adder(int first, int second) : a(first), b(second) {}

  int run() override {
    ++runs;
    print("run() is called here");
    return a + b;
  }

  void print(const char* when) const {
    const char* const where = getpid() == maker ? "parent" : "child";
    cookbook::println("{:<10}{:<27}{:<10}{:>4}{:>4}{:>6}", name(), when, where, a, b, runs);
  }

  const pid_t maker = getpid();
};

struct Sleeper : public Process {
  OneShotEvent sleeps;

  int run() override {
    cookbook::println("{} sleeps for 60 s, and nobody joins it", name());
    sleeps.give();
    sleep(60);
    return 0;
  }
};

}  // namespace

int main(int argc, char** argv) {
  int first = 40, second = 2;
  cookbook::Options options("Write a process as a class with a run method");
  options.add("a", first, "a number to add", 0, 100);
  options.add("b", second, "the other number", 0, 100);
  options.parse(argc, argv);

  cookbook::println("process   when                       object in    a   b  runs");
  Adder one(first, second);
  one.print("before start()");
  one.start();
  const int sum = one.join();
  one.print("after join()");
  const int runs_after_join = one.runs;
  Adder other(first, second);
  other.run();  // an ordinary call, in this process
  other.print("after a direct call");

  auto forgotten = std::make_unique<Sleeper>();
  forgotten->start();
  forgotten->sleeps.wait();
  const cookbook::Stopwatch watch;
  forgotten.reset();
  cookbook::println("its destructor has killed and joined the child within {:.1f} ms", watch.seconds() * 1e3);

  cookbook::Checks checks;
  checks.equal("the sum, as exit code of the child", sum, first + second);
  checks.equal("runs in the parent, by start() and by a direct call", std::vector{runs_after_join, other.runs}, {0, 1});
  checks.that("no child is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  return checks.exit_code();
}
