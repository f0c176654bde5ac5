// Find memory error
//
// A faulty program reads memory that another thread has freed, and prints the right result all the same. Compiled with
// AddressSanitizer it ends with a report of eighty lines. Those that answer the question are printed, with what stands
// in our source there: which thread has read, which one had freed the memory, and which one had allocated it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/find_memory_error/find_memory_error.cpp common/cookbook/*.cpp -lfmt -pthread -o find_memory_error
// Run:     find_memory_error [--report NAME], beside the other programs, each compiled by its own line

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

namespace {

using Lines = std::vector<std::string>;

/// A stack of the report: the thread, and the innermost function of our source, with what stands in its line.
struct Stack {
  std::string thread, function, line, text;
};

struct Report {
  std::string kind;  ///< "heap-use-after-free: READ of size 4"; empty: nothing was found
  Stack access, freed, allocated;
};

/// A line of a file, counted from 1, without the space at its beginning.
std::string line_of(const std::string& path, int number) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(file, line);
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

/// Picks the three stacks out of a report about `source`, the name of a file.
Report read_report(const Lines& lines, const std::string& source) {
  Report report;
  Stack* stack = nullptr;
  std::smatch match;
  for (const std::string& line : lines) {
    if (std::regex_search(line, match, std::regex("ERROR: AddressSanitizer: (\\S+) on address"))) {
      report.kind = match[1];
    } else if (std::regex_search(line, match, std::regex("^((?:READ|WRITE) of size \\d+) at \\S+ thread (T\\d+)"))) {
      report.kind += ": " + match[1].str();
      stack = &report.access;
      stack->thread = match[2];
    } else if (std::regex_search(line, match, std::regex("^freed by thread (T\\d+)"))) {
      stack = &report.freed;
      stack->thread = match[1];
    } else if (std::regex_search(line, match, std::regex("^previously allocated by thread (T\\d+)"))) {
      stack = &report.allocated;
      stack->thread = match[1];
    } else if (stack != nullptr && stack->function.empty() &&
               std::regex_search(line, match, std::regex(" in ([^ (]+)\\S* (\\S*/" + source + "):(\\d+)"))) {
      *stack = {stack->thread, match[1], match[3], line_of(match[2], std::stoi(match[3]))};
    }
  }
  return report;
}

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
  cookbook::println("with AddressSanitizer it is ended before that: {}", report.kind);
  print("accessed", report.access);
  print("freed", report.freed);
  print("allocated", report.allocated);

  cookbook::Checks checks;
  checks.equal("fault", report.kind, "heap-use-after-free: READ of size 4");
  checks.equal("thread that had freed what was read", report.freed.thread, "T2");
  checks.equal("lines of the repaired program, with AddressSanitizer", lines_of(name + "cured_asan"),
               {"price: 100", "new price: 1100", "parcel to London"});
  return checks.exit_code();
}
