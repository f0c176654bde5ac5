// Find memory error
//
// Two faulty programs read memory that another thread has freed, and print the right result all the same. Compiled with
// AddressSanitizer, each of them ends with a report of eighty lines. The lines that answer the question are printed:
// which thread has read, which one had freed the memory, which one had allocated it, and where.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/find_memory_error/find_memory_error.cpp common/cookbook/*.cpp -lfmt -pthread -o find_memory_error
// Run:     find_memory_error [--report NAME], beside the other three programs, each compiled by its own line

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

namespace {

using Lines = std::vector<std::string>;

/// A part of the report: what was done, by which thread, and the lines of our source in its stack, innermost first.
struct Stack {
  std::string thread;
  Lines places;  ///< "sell (line 58)"
};

struct Report {
  std::string kind;  ///< "heap-use-after-free: READ of size 4"; empty: nothing was found
  Stack access, freed, allocated;
};

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
    } else if (line.empty()) {
      stack = nullptr;  // where threads were created follows, and a picture of the memory
    } else if (stack != nullptr &&
               std::regex_search(line, match, std::regex(" in (operator\\(\\)|[^ (]+).*/" + source + ":(\\d+)"))) {
      stack->places.push_back(match[1].str() + " (line " + match[2].str() + ")");
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
  cookbook::println("  {:<9} by {}   {}", what, stack.thread, fmt::join(stack.places, ", "));
}

Report examine(const std::string& name) {
  cookbook::println("{}", name);
  cookbook::println("  without a tool it prints '{}'", fmt::join(lines_of(name), "', '"));
  const Report report = read_report(lines_of(name + "_asan"), name + ".cpp");
  cookbook::println("  {}", report.kind);
  print("accessed", report.access);
  print("freed", report.freed);
  print("allocated", report.allocated);
  return report;
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
        "AddressSanitizer (install libgcc-12-dev, or libclang-rt-16-dev)",
        name);
    return 77;
  }
  if (!whole.empty()) {
    for (const std::string& line : lines_of(name + whole + "_asan")) cookbook::println("{}", line);
    return 0;
  }

  const Report thread = examine(name + "thread"), coroutine = examine(name + "coroutine");
  const Lines cured = lines_of(name + "cured_asan");
  const std::string kind = read_report(cured, name + "cured.cpp").kind;
  cookbook::println("{}cured, with AddressSanitizer", name);
  cookbook::println("  {}", kind.empty() ? "nothing reported" : kind);

  cookbook::Checks checks;
  checks.equal("faults", Lines{thread.kind, coroutine.kind},
               {"heap-use-after-free: READ of size 4", "heap-use-after-free: READ of size 1"});
  checks.equal("threads that had freed what was read", Lines{thread.freed.thread, coroutine.freed.thread},
               {"T2", "T0"});
  checks.equal("lines of the cured program", cured, {"price: 100", "new price: 1100", "parcel to London"});
  return checks.exit_code();
}
