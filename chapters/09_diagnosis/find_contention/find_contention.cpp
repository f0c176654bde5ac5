// Find the lock that everybody waits for
//
// A shop answers 200 orders, first with one thread, then with eight, which are no faster. It is run again with a small
// library before it that measures how long each call of pthread_mutex_lock waits: the top line of its report names the
// lock. This lock is split into 64, and the program measured once more.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/find_contention/find_contention.cpp common/cookbook/*.cpp -lfmt -pthread -o find_contention && g++ -std=c++20 -O2 -shared -fPIC chapters/09_diagnosis/find_contention/lock_profile.cpp -o libfind_contention_profile.so && g++ -std=c++20 -O2 -g1 -Icommon chapters/09_diagnosis/find_contention/find_contention_shop.cpp common/cookbook/*.cpp -lfmt -pthread -o find_contention_shop
// Run:     find_contention [--program PROGRAM]

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

namespace {

using Lines = std::vector<std::string>;

/// Runs a program that stands beside this one. What it has printed, and the profile, which goes to standard error.
Lines lines_of(std::vector<std::string> words, bool with_profile) {
  const auto preload = [&] {
    const std::string library = cookbook::beside_this_program("libfind_contention_profile.so");
    if (with_profile) check(setenv("LD_PRELOAD", library.c_str(), 1), "setenv");
  };
  words[0] = cookbook::beside_this_program(words[0]);
  cookbook::ChildProgram program(words, cookbook::ChildProcess::Output::piped_with_errors, preload);
  program.read_all();
  program.wait();
  return program.lines();
}

/// One run of the shop without the library, for its time, and one with it, for the report.
struct Shop {
  Shop(int threads, int locks) {
    const std::vector<std::string> words = {"find_contention_shop", "--threads", std::to_string(threads), "--locks",
                                            std::to_string(locks)};
    std::string ignored;
    std::istringstream first(lines_of(words, false).at(0));  // "sold for 9999 in 210 ms"
    first >> ignored >> ignored >> total >> ignored >> milliseconds;
    report = lines_of(words, true);
    if (report.size() < 4) {
      cookbook::print_error("no report of the locks: " + (report.empty() ? "nothing was printed" : report.front()));
      std::exit(3);
    }
    report.erase(report.begin());
  }

  long total = 0;
  double milliseconds = 0;
  Lines report;  ///< a line of sums, one with the headings, one for each place that locks
};

/// The report's column of that number, counted from 0.
std::string column(const std::string& line, int number) {
  std::istringstream words(line);
  std::string word;
  for (int i = 0; i <= number; ++i) words >> word;
  return word;
}
constexpr int locks_column = 5, function_column = 6;

/// The line about that function, wherever it stands.
std::string about(const std::string& function, const Lines& report) {
  for (const std::string& line : report) {
    if (line.find(function + " (") != std::string::npos) return line;
  }
  return "the function " + function + " does not stand in the report";
}

}  // namespace

int main(int argc, char** argv) {
  std::string program;
  cookbook::Options options("Find the lock that everybody waits for");
  options.add("program", program, "instead: the program beside this one of which the profile is wanted");
  options.parse(argc, argv);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  cookbook::println("skipped: the library for LD_PRELOAD is not made with a sanitizer");
  return 77;
#endif
  if (!program.empty()) {
    if (access(cookbook::beside_this_program(program).c_str(), X_OK) != 0) {
      cookbook::print_error("--program " + program + ": there is no such program beside this one");
      return 2;
    }
    for (const std::string& line : lines_of({program}, true)) cookbook::println("{}", line);
    return 0;
  }

  const Shop alone(1, 1), together(8, 1), split(8, 64);
  cookbook::println("1 thread, 1 lock     {:4.0f} ms", alone.milliseconds);
  cookbook::println("8 threads, 1 lock    {:4.0f} ms  {:.2f} x", together.milliseconds,
                    alone.milliseconds / together.milliseconds);
  for (const std::string& line : together.report) cookbook::println("    {}", line);
  cookbook::println("8 threads, 64 locks  {:4.0f} ms  {:.2f} x", split.milliseconds,
                    alone.milliseconds / split.milliseconds);
  cookbook::println("    {}", split.report.front());

  cookbook::Checks checks;
  checks.equal("threads waited longest in", column(together.report.at(2), function_column), "price");
  checks.equal("locks used there, before and after",
               Lines{column(together.report.at(2), locks_column), column(about("price", split.report), locks_column)},
               {"1", "64"});
  checks.that("all three runs sold for the same", alone.total == together.total && together.total == split.total);
  return checks.exit_code();
}
