// Pitfall: the base class starts the process in its constructor
//
// While the constructor of a base class runs, the object is an object of the base class: the derived part does not
// exist yet. The child gets a copy of this unfinished object, and its virtual call finds the run() of the base class. A
// thread would share the object, and might find it finished a moment later; a copy is never finished.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/process_class/process_class_in_constructor.cpp common/cookbook/*.cpp -lfmt -o process_class_in_constructor
// Run:     process_class_in_constructor
// Symptom: exit 1, prints "the child called run() of Process"

#include "cookbook/process.hpp"

class Process {
 public:
  Process() : child_(cookbook::start_child([this] { return run(); })) {}  // wrong: there is no MyProcess yet
  virtual ~Process() = default;
  virtual int run() {
    cookbook::println("the child called run() of Process");
    return 1;
  }
  int join() const { return cookbook::exit_code_of(child_); }

 private:
  pid_t child_;
};

class MyProcess : public Process {
 public:
  int run() override {
    cookbook::println("the child called run() of MyProcess");
    return 0;
  }
};

int main() {
  const MyProcess process;
  return process.join();
}
