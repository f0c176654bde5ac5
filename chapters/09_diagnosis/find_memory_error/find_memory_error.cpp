// Find memory error
//
// The lesson is find_memory_error_thread.cpp: it reads memory that another thread has freed, and prints the right
// result all the same. This program, which need not be read, runs it. Compiled with AddressSanitizer, it ends with a
// report of eighty lines; those that answer the question are printed, with what stands in our source there: which
// thread has read, which one had freed the memory, and which one had allocated it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/find_memory_error/find_memory_error.cpp common/cookbook/*.cpp -lfmt -pthread -o find_memory_error
// Run:     find_memory_error [--report NAME], beside the other programs, each compiled by its own line

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "report.hpp"

namespace {

/// All that a program prints which stands beside this one.
Lines lines_of(const std::string& name) {
  const auto use_defaults = [] {
    check(unsetenv("ASAN_OPTIONS"), "unsetenv");
    check(unsetenv("LD_PRELOAD"), "unsetenv");  // AddressSanitizer's library refuses to come after another one
  };
  cookbook::ChildProgram program({cookbook::beside_this_program(name)},
                                 cookbook::ChildProcess::Output::piped_with_errors, use_defaults);
  program.read_all();
  program.wait();
  return program.lines();
}

void print(const std::string& what, const Stack& stack) {
  cookbook::println("  {:<9} by {} in {:<10}  line {}: {}", what, stack.thread, stack.function, stack.line, stack.text);
}

}  // namespace

int main(int argc, char** argv) {
  std::string whole;
  cookbook::Options options("Find out which thread has freed the memory that another one reads");
  options.add_choice("report", whole, "instead: the whole report of this program", {"thread", "coroutine", "cured"});
  options.parse(argc, argv);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  cookbook::println("skipped: in this build the programs without a tool have one");
  return 77;
#endif
  const std::string name = "find_memory_error_";
  if (access(cookbook::beside_this_program(name + "cured_asan").c_str(), X_OK) != 0) {
    cookbook::println(
        "skipped: {}cured_asan is missing beside this program: it was not compiled, or the compiler has no "
        "AddressSanitizer (install libgcc-N-dev, or libclang-rt-N-dev, N being its version)",
        name);
    return 77;
  }
  if (!whole.empty()) {
    for (const std::string& line : lines_of(name + whole + "_asan")) cookbook::println("{}", line);
    return 0;
  }

  cookbook::println("{}thread prints '{}'", name, fmt::join(lines_of(name + "thread"), "', '"));
  const Report report = read_report(lines_of(name + "thread_asan"), name + "thread.cpp");
  cookbook::println("with AddressSanitizer it stops before it prints: {}", report.kind);
  print("accessed", report.access);
  print("freed", report.freed);
  print("allocated", report.allocated);

  cookbook::Checks checks;
  checks.equal("thread that had freed what was read", report.freed.thread, "T2");
  checks.equal("lines of the repaired program, with AddressSanitizer", lines_of(name + "cured_asan"),
               {"price: 100", "new price: 1100"});
  return checks.exit_code();
}
