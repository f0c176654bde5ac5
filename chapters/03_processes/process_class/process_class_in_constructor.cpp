// Process by class, started too early and described too late
//
// The base class of process_class.cpp, but its constructor starts the child, and its destructor calls name(), which the
// derived class overrides. In both the object is only a Process: its derived part is not there yet, or is gone already.
// With threads the first is a race, which may go well. Here it never does: fork copies the half-made object, and
// the copy in the child stays half-made for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_class/process_class_in_constructor.cpp common/cookbook/*.cpp -lfmt -o process_class_in_constructor
// Run:     process_class_in_constructor
// Symptom: exit 1, prints "the child called run() of Process"

#include <string>

#include "child.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

class Process {
 public:
  Process() : id_(start_child([this] { return run(); })) {}  // the first mistake: there is no MyProcess yet
  virtual ~Process() {
    cookbook::println("the destructor called name() of {}", name());
  }  // the second: nor is there now
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  virtual int run() { return 1; }
  virtual std::string name() const { return "Process"; }

  int join() const { return exit_code_of(id_); }

 private:
  pid_t id_;
};

class MyProcess : public Process {
 public:
  int run() override { return 0; }
  std::string name() const override { return "MyProcess"; }
};

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Start a process in the constructor of its base class, and find the base's run() called");
  options.parse(argc, argv);

  MyProcess process;
  cookbook::println("in between, name() is of {}", process.name());
  const int code = process.join();
  cookbook::println("the child called run() of {}", code == 0 ? "MyProcess" : "Process");
  return code;
}
