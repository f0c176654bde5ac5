// Process as a class
//
// The base class Process starts a child that calls run(), and joins it. But the child has a copy of the object. Here
// run() adds two numbers, and puts the sum into a member of the object, into shared memory, and into the exit code.
// Which of the three does the parent find? The program prints the object in the parent and in the child.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_class/process_class.cpp common/cookbook/*.cpp -lfmt -o process_class
// Run:     process_class [--a N] [--b N]

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "process.hpp"
#include "shared_memory.hpp"

namespace {

/// A process with arguments, which are members, and with three places for its result.
struct Adder : public Process {
  int a, b;
  int sum = 0;
  Shared<int> shared_sum;

  Adder(int first, int second) : a(first), b(second) {}

  int run() override {
    sum = a + b;
    *shared_sum = a + b;
    print("at the end of run()", "child");
    return a + b;  // the exit code of the child
  }

  void print(const char* when, const char* where) const {
    cookbook::println("{:<22}{:<9}{:>4}{:>5}{:>6}{:>13}", when, where, a, b, sum, *shared_sum);
  }
};

struct Sleeper : public Process {
  int run() override { return pause(); }
};

}  // namespace

int main(int argc, char** argv) {
  int a = 200, b = 100;
  cookbook::Options options("Write a process as a class with a run method");
  options.add("a", a, "a number to add", 0, 1000);
  options.add("b", b, "the other number", 0, 1000);
  options.parse(argc, argv);

  cookbook::println("when                  object in   a    b   sum   shared sum");
  Adder one(a, b);
  one.print("before start()", "parent");
  one.start();
  const int exit_code = one.join();
  one.print("after join()", "parent");
  {
    Sleeper forgotten;
    forgotten.start();
  }  // its destructor kills the child, which nobody has joined

  cookbook::Checks checks;
  checks.equal("what the parent has: sum, shared sum, exit code", std::vector{one.sum, *one.shared_sum, exit_code},
               {0, a + b, (a + b) % 256});
  checks.equal("children left when their objects are gone", waitpid(-1, nullptr, WNOHANG) == -1 ? 0 : 1, 0);
  return checks.exit_code();
}
