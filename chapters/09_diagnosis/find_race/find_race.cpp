// Find a race
//
// One thread hands over a result to another too late, and no ordinary test shows it: find_race_forms.cpp has the code.
// This program compiles it, tests it, and prints what ThreadSanitizer reports of a run with the right result. The table
// shows the same of five forms of the code, two of which have this race, and of two more tools: each tool finds a race
// or misses it, and some report a form that has none.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/09_diagnosis chapters/09_diagnosis/find_race/find_race.cpp common/cookbook/*.cpp -lfmt -pthread -o find_race
// Run:     find_race

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "reports.hpp"
#include "run_tool.hpp"
#include "suppressions.hpp"

namespace {

using Words = std::vector<std::string>;

const Names forms = {"AfterUnlock", "ThenLog", "UnderLock", "Release", "Fences"};
const Names racy = {"AfterUnlock", "ThenLog"};  // by the rules of C++; to pass a test proves nothing

/// ThreadSanitizer is compiled into the program. (`setarch -R` turns the random choice of addresses off: with some
/// kernels ThreadSanitizer of GCC 12 cannot start otherwise. The options let it end with exit code 0.)
Words thread_sanitizer(const std::string& program, const std::string& suppressions) {
  const std::string options = "TSAN_OPTIONS=exitcode=0" + (suppressions.empty() ? "" : ":suppressions=" + suppressions);
  return {"env", options, "setarch", "-R", program, "1", "0"};
}

/// Helgrind and DRD are tools of Valgrind, which runs a program that was compiled as usual, with -g.
Words valgrind(const std::string& tool, const std::string& program, const std::string& suppressions) {
  Words words = {"valgrind", "--quiet", "--tool=" + tool, program, "1", "0"};
  if (!suppressions.empty()) words.insert(words.begin() + 1, "--suppressions=" + suppressions);
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  int jobs = 200;
  cookbook::Options options("Find a race that no ordinary test shows");
  options.add("jobs", jobs, "jobs of each form in the test without a tool", 1, 1'000);
  options.parse(argc, argv);
  require_tool("valgrind", "valgrind");

  const TemporaryFolder folder;
  const std::string source = beside(__FILE__, "find_race_forms.cpp");
  const std::string plain = folder.path() + "/plain", sanitized = folder.path() + "/sanitized";
  outputs_of_tools(
      {{"g++", "-std=c++20", "-g", source, "-pthread", "-o", plain},
       {"g++", "-std=c++20", "-g", "-fsanitize=thread", "-Wno-tsan", source, "-pthread", "-o", sanitized}});

  auto tested = percent_right(output_of_tool({plain, std::to_string(jobs), "0"}), jobs);
  auto paused = percent_right(output_of_tool({plain, "20", "200"}), 20);
  const std::string for_tsan = folder.write("tsan.supp", tsan_suppressions);
  const std::string for_valgrind = folder.write("valgrind.supp", valgrind_suppressions);
  const std::vector<std::string> reports =
      outputs_of_tools({thread_sanitizer(sanitized, ""), valgrind("helgrind", plain, ""), valgrind("drd", plain, ""),
                        thread_sanitizer(sanitized, for_tsan), valgrind("helgrind", plain, for_valgrind),
                        valgrind("drd", plain, for_valgrind)});
  std::vector<Names> reported, unsuppressed;
  for (int i = 0; i < 3; ++i) {
    reported.push_back(reported_forms(reports[i]));
    unsuppressed.push_back(reported_forms(reports[3 + i]));
  }

  cookbook::println("{} tests of AfterUnlock: {} % right", jobs, tested["AfterUnlock"]);
  cookbook::println("1 test of it under ThreadSanitizer: {} % right, and", percent_right(reports[0], 1)["AfterUnlock"]);
  print_accesses(reports[0]);
  const auto print_row = [](const auto&... cells) {
    cookbook::println("{:<13}{:<9}{:>14}{:>14}  {:<17}{:<13}{}", cells...);
  };
  print_row("", "a race?", "right in tests", "with a pause", "ThreadSanitizer", "Helgrind", "DRD");
  Names fail;
  for (const std::string& form : forms) {
    const bool race = contains(racy, form);
    const auto cell = [&](const Names& names) {
      if (contains(names, form)) return race ? "found" : "false alarm";
      return race ? "missed" : "-";
    };
    print_row(form, race ? "yes" : "no", fmt::format("{} %", tested[form]), fmt::format("{} %", paused[form]),
              cell(reported[0]), cell(reported[1]), cell(reported[2]));
    if (paused[form] < 100) fail.push_back(form);
  }

  cookbook::Checks checks;
  checks.equal("forms that fail with a pause", fail, racy);
  const Names by_thread_sanitizer = {"AfterUnlock", "Fences"}, by_valgrind = {"AfterUnlock", "Release", "Fences"};
  checks.that("each tool reports the forms that are expected of it",
              reported == std::vector<Names>{by_thread_sanitizer, by_valgrind, by_valgrind});
  checks.equal("reported with the suppressions", unsuppressed, std::vector<Names>(3, {"AfterUnlock"}));
  return checks.exit_code();
}
