// Find a race
//
// One thread hands over a result to another too late, and no ordinary test shows it. This lesson compiles the program
// and prints what ThreadSanitizer reports of a run with the right result. Then it does so with five forms of the
// program, two of which have this race, and with Helgrind and DRD: the table shows which form each tool reports,
// rightly ("race") or wrongly ("false"), and which race it says nothing of ("missed").
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
const Names racy = {"AfterUnlock", "ThenLog"};  // by the rules of C++; to pass a test proves nothing

bool contains(const Names& names, const std::string& form) {
  return std::find(names.begin(), names.end(), form) != names.end();
}

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
    if (!contains(found, match[1])) found.push_back(match[1]);
  }
  return found;
}

/// Prints the two accesses of the first report of ThreadSanitizer, and of the stack of each the innermost line that is
/// in find_race_forms.cpp; without addresses and folders.
void print_accesses(const std::string& report) {
  static const std::regex access("^ +((Previous )?([Rr]ead|[Ww]rite) of size \\d+) at \\w+ (by [^:]*):");
  static const std::regex frame("^ +#\\d+ (.*) [^ ]*/(find_race_forms.cpp:\\d+) ");
  int accesses = 0, frames = 0;
  for (const std::string& line : lines_of(report)) {
    std::smatch match;
    if (std::regex_search(line, match, access) && ++accesses <= 2) {
      cookbook::println("  {} {}", match.str(1), match.str(4));
    } else if (frames < accesses && accesses <= 2 && std::regex_search(line, match, frame)) {
      cookbook::println("    {}  {}", match.str(2), match.str(1));
      ++frames;
    }
  }
}

/// How many of the jobs of each form ended with the right result, in percent: the program's own lines of an output.
std::map<std::string, int> percent_right(const std::string& output, int jobs) {
  static const std::regex result("(\\w+) (\\d+)");
  std::map<std::string, int> percent;
  for (const std::string& line : lines_of(output)) {
    if (std::smatch match; std::regex_match(line, match, result)) percent[match[1]] = 100 * std::stoi(match[2]) / jobs;
  }
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
  cookbook::println("             right in tests  with a pause   by ThreadSanitizer  by Helgrind, DRD");
  Names fail;
  for (const std::string& form : forms) {
    const auto cell = [&](const Names& names) {
      if (contains(racy, form)) return contains(names, form) ? "race" : "missed";
      return contains(names, form) ? "false" : "-";
    };
    cookbook::println("{:<13}{:>12} %{:>12} %   {:<20}{}", form, tested[form], paused[form], cell(reported[0]),
                      cell(reported[1]));
    if (paused[form] < 100) fail.push_back(form);
  }

  cookbook::Checks checks;
  checks.equal("forms that fail with a pause", fail, racy);
  checks.equal("reported by ThreadSanitizer, Helgrind, DRD", reported,
               {{"AfterUnlock", "Fences"}, {"AfterUnlock", "Release", "Fences"}, {"AfterUnlock", "Release", "Fences"}});
  checks.equal("reported with the suppressions", unsuppressed, std::vector<Names>(3, {"AfterUnlock"}));
  return checks.exit_code();
}
