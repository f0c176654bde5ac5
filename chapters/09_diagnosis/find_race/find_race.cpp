// Find a race
//
// A program with five ways to hand over a result from one thread to another. Two of them have a race that no
// ordinary test shows. This lesson compiles the program, tests it as one would, and with a pause at the decisive place,
// and then runs it once under each of three tools that look for races. The table shows which tool reports which way,
// rightly ("race") or wrongly ("false"); below it is the report of ThreadSanitizer about the first one.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/09_diagnosis chapters/09_diagnosis/find_race/find_race.cpp common/cookbook/*.cpp -lfmt -pthread -o find_race
// Run:     find_race

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "run_tool.hpp"
#include "suppressions.hpp"

namespace {

using Words = std::vector<std::string>;
using Names = std::vector<std::string>;

const Names forms = {"AfterUnlock", "ThenLog", "UnderLock", "Release", "Fences"};

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

/// The forms that a tool reports. The stack of an access goes through try_form<...>, which names the form.
Names reported_forms(const std::string& report) {
  static const std::regex begins("WARNING: ThreadSanitizer: data race|Possible data race|Conflicting (load|store)");
  static const std::regex names_form("try_form<(\\w+)>");
  Names found;
  bool in_first_stack = false;
  for (const std::string& line : lines_of(report)) {
    std::smatch match;
    if (std::regex_search(line, begins)) in_first_stack = true;
    if (!in_first_stack || !std::regex_search(line, match, names_form)) continue;
    in_first_stack = false;
    if (std::find(found.begin(), found.end(), match[1]) == found.end()) found.push_back(match[1]);
  }
  return found;
}

/// Prints the two accesses of the first report of ThreadSanitizer, with those lines of the stacks that are in
/// find_race_forms.cpp; without addresses and folders.
void print_accesses(const std::string& report) {
  static const std::regex access("^ +((Previous )?([Rr]ead|[Ww]rite) of size \\d+) at \\w+ (by [^:]*):");
  static const std::regex frame("^ +#\\d+ (.*) [^ ]*/(find_race_forms.cpp:\\d+) ");
  int accesses = 0;
  for (const std::string& line : lines_of(report)) {
    std::smatch match;
    if (std::regex_search(line, match, access) && ++accesses <= 2) {
      cookbook::println("{} {}", match.str(1), match.str(4));
    } else if (accesses <= 2 && std::regex_search(line, match, frame)) {
      cookbook::println("  {:<25}{}", match.str(2), match.str(1));
    } else if (accesses == 2 && line.empty()) {
      return;
    }
  }
}

/// How many of the jobs of each form ended with the right result, in percent.
std::map<std::string, int> percent_right(const std::string& program, int jobs, int pause_ms) {
  std::istringstream output(output_of_tool({program, std::to_string(jobs), std::to_string(pause_ms)}));
  std::map<std::string, int> percent;
  int right = 0;
  for (std::string form; output >> form >> right;) percent[form] = 100 * right / jobs;
  return percent;
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

  auto tested = percent_right(plain, jobs, 0);
  auto paused = percent_right(plain, 20, 200);
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

  cookbook::println("{:<13}{:>8}{:>19}   ThreadSanitizer  Helgrind  DRD", "right:", "no pause", "with a pause");
  Names wrong;
  for (const std::string& form : forms) {
    const auto cell = [&](const Names& names) {
      if (std::find(names.begin(), names.end(), form) == names.end()) return "-";
      return paused[form] < 100 ? "race" : "false";
    };
    cookbook::println("{:<13}{:>6} %{:>17} %   {:<17}{:<10}{}", form, tested[form], paused[form], cell(reported[0]),
                      cell(reported[1]), cell(reported[2]));
    if (paused[form] < 100) wrong.push_back(form);
  }
  print_accesses(reports[0]);

  cookbook::Checks checks;
  checks.equal("ways that have a race", wrong, {"AfterUnlock", "ThenLog"});
  checks.equal("reported by ThreadSanitizer, Helgrind, DRD", reported,
               {{"AfterUnlock", "Fences"}, {"AfterUnlock", "Release", "Fences"}, {"AfterUnlock", "Release", "Fences"}});
  checks.equal("reported with the suppressions", unsuppressed, std::vector<Names>(3, {"AfterUnlock"}));
  return checks.exit_code();
}
