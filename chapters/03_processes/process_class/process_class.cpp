// Process by class
//
// A base class keeps what every process needs: a name, start, join, and a destructor that leaves no child behind. What
// a process does stands in run() of a derived class, which start() calls in the child. The child works on a copy of
// the object, made by fork: it sees what the constructor was given, and what it changes stays with it. The pitfall,
// process_class_in_constructor.cpp, starts the child too early, when the object is not yet of the derived class.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_class/process_class.cpp common/cookbook/*.cpp -lfmt -o process_class
// Run:     process_class [--processes N] [--work-ms N]

#include <cxxabi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "shared_memory.hpp"

namespace {

/// A process as an object. It can be started once, and its child does not outlive it.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Kills and reaps a child that nobody has joined. The derived part is gone by now, so a call of name() or run()
  /// would find the base's. The child does not mind: its copy of the object is whole.
  virtual ~Process() {
    if (id_ == 0 || exit_code_) return;
    check(kill(id_, SIGKILL), "kill");
    join();
  }

  /// What the process does. Its result is the exit code.
  virtual int run() = 0;

  void start() {
    if (id_ != 0) throw std::logic_error(name() + " has been started already");
    id_ = start_child([this] { return run(); });  // fork; in the child run(), then _exit
  }

  /// Waits for the end of the child. Its exit code, or -N if signal N ended it.
  int join() {
    if (id_ == 0) throw std::logic_error(name() + " has not been started");
    if (!exit_code_) exit_code_ = exit_code_of(id_);
    return *exit_code_;
  }

  /// The child's process id; 0 before the start, and in the child itself.
  pid_t id() const { return id_; }

  /// Class and number, such as MyProcess-1.
  std::string name() const {
    char* const text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, nullptr);
    const std::string type = text != nullptr ? text : "Process";
    std::free(text);
    return fmt::format("{}-{}", type.substr(type.rfind(':') + 1), number_);
  }

 private:
  static inline std::atomic<int> made_ = 0;

  const int number_ = ++made_;  // one count for all derived classes
  pid_t id_ = 0;
  std::optional<int> exit_code_;
};

/// The source's process.
class MyProcess : public Process {
 public:
  int run() override {
    cookbook::println("called run method in process: {}", name());
    return 0;
  }
};

/// What a child tells its parent.
struct Report {
  std::atomic<pid_t> id = 0;
  std::atomic<long> sum = 0;
  std::atomic<int> runs = 0;
};

/// A process with arguments.
class Adder : public Process {
 public:
  Adder(Report& report, long a, long b) : report_(report), a_(a), b_(b) {}

  int run() override {
    ++runs_;
    report_.id = getpid();
    report_.sum = a_ + b_;
    report_.runs = runs_;
    return 0;
  }

  int runs() const { return runs_; }

 private:
  Report& report_;  // in shared memory, so parent and child mean the same one
  long a_, b_;
  int runs_ = 0;
};

class Sleeper : public Process {
 public:
  explicit Sleeper(std::chrono::milliseconds time) : time_(time) {}

  int run() override {
    std::this_thread::sleep_for(time_);
    return 0;
  }

 private:
  std::chrono::milliseconds time_;
};

/// The processes of the source's list.
using List = std::vector<std::unique_ptr<Process>>;

void sleep_one_by_one(int count, std::chrono::milliseconds time) {
  List list;
  for (int i = 0; i < count; ++i) {
    list.push_back(std::make_unique<Sleeper>(time));
    list.back()->start();
    list.back()->join();
  }
}

void sleep_together(int count, std::chrono::milliseconds time) {
  List list;
  for (int i = 0; i < count; ++i) {
    list.push_back(std::make_unique<Sleeper>(time));
    list.back()->start();
  }
  for (const auto& process : list) process->join();
}

/// What a second start throws, as text.
std::string start_again(Process& process) {
  try {
    process.start();
    return "nothing";
  } catch (const std::logic_error& error) {
    return error.what();
  }
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

}  // namespace

int main(int argc, char** argv) {
  int count = 5, work_ms = 10;
  cookbook::Options options("Processes as objects of a class with a run method");
  options.add("processes", count, "processes in each round", 1, 1000);
  options.add("work-ms", work_ms, "time that each process of the timed rounds sleeps, in ms", 1, 60'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds time(work_ms);

  cookbook::Checks checks;
  List list;
  int ended_well = 0;
  for (int i = 0; i < count; ++i) {
    list.push_back(std::make_unique<MyProcess>());
    list.back()->start();
    if (list.back()->join() == 0) ++ended_well;  // the next one starts after this one's end, as in the source
  }
  checks.equal("processes that ended with exit code 0", ended_well, count);
  checks.equal("name of the last one", list.back()->name(), fmt::format("MyProcess-{}", count));

  const Shared<Report> report;
  Adder adder(*report, 40, 2);
  adder.start();
  checks.equal("exit code of " + adder.name(), adder.join(), 0);
  checks.equal("run() saw the constructor's arguments, their sum", report->sum.load(), 42L);
  checks.equal("run() was in the child's process", report->id == adder.id(), true);
  checks.equal("run() was in the parent's process", report->id == getpid(), false);
  checks.equal("runs counted by the child, by the parent", std::vector{report->runs.load(), adder.runs()}, {1, 0});
  checks.equal("a second start says", start_again(adder), adder.name() + " has been started already");

  adder.run();  // no start(): an ordinary call
  checks.equal("called directly, run() was in the parent's process", report->id == getpid(), true);
  checks.equal("runs counted by the parent then", adder.runs(), 1);

  {
    Sleeper forgotten(std::chrono::hours(1));
    forgotten.start();
  }
  checks.equal("a child is left that nobody has joined", has_children(), false);

  cookbook::Figures figures(fmt::format("{} processes, each asleep for {} ms", count, work_ms),
                            cookbook::cost("ms", 1e-3));
  figures.measure({{"joined in the loop", 1, [&] { sleep_one_by_one(count, time); }},
                   {"joined at the end", 1, [&] { sleep_together(count, time); }}},
                  5);
  figures.print(checks);
  return checks.exit_code();
}
