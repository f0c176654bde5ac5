// Thread safety analysis
//
// cases.cpp says which mutex protects which variable, and has twelve functions, each of which says whether it is right.
// The program lets Clang judge them. Beside the truth (right, wrong) stands what Clang says: in most of the wrong
// functions it finds an error. Three wrong ones it does not see, and two that are right it refuses.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/09_diagnosis chapters/09_diagnosis/thread_safety_analysis/thread_safety_analysis.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_safety_analysis
// Run:     thread_safety_analysis

#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "run_tool.hpp"

namespace {

/// What Clang says of a source: all that a project needs to check its locks. (Its own tests write
/// "// expected-warning {{...}}" beside the wrong lines, and compile with -Xclang -verify.)
std::string errors_of(const std::string& clang, const std::string& source) {
  return run_tool({clang, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", source}).text;
}

/// Clang 16, which the set-up installs, or else the one that is here; an empty text if there is none.
std::string find_clang() {
  for (const std::string name : {"clang++-16", "clang++"}) {
    if (run_tool({name, "--version"}).exit_code == 0) return name;
  }
  return "";
}

// From here on: what the messages mean for the functions of cases.cpp.

using Names = std::vector<std::string>;

/// A function of cases.cpp.
struct Case {
  std::string name, truth, verdict = "-";  // "right" or "wrong"; what Clang says first
  int line;
};

/// The functions, in their order.
std::vector<Case> read_cases(const std::string& source) {
  static const std::regex first_line("^  [a-z*]+ (\\w+)\\(.*\\{  // (right|wrong)$");
  std::vector<Case> cases;
  std::ifstream file(source);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, first_line)) cases.push_back({match.str(1), match.str(2), "-", number});
  }
  return cases;
}

/// Puts each error of Clang to the function in which it is: the last one that begins before it.
void judge(std::vector<Case>& cases, const std::string& errors) {
  static const std::regex error("cases\\.cpp:(\\d+):\\d+: error: (.*) \\[-Werror");
  for (const std::string& line : lines_of(errors)) {
    std::smatch match;
    if (!std::regex_search(line, match, error)) continue;
    Case* of = nullptr;
    for (Case& one : cases) {
      if (one.line <= std::stoi(match[1])) of = &one;
    }
    if (of != nullptr && of->verdict == "-") of->verdict = match[2];
  }
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Let the compiler prove that the lock is held");
  options.parse(argc, argv);
  const std::string clang = find_clang();
  if (clang.empty()) {
    cookbook::println("skipped: clang++ is missing; install clang");
    return 77;
  }

  const std::string source = beside(__FILE__, "cases.cpp");
  std::vector<Case> cases = read_cases(source);
  judge(cases, errors_of(clang, source));

  Names refused, missed, false_alarms;
  cookbook::println("{:<18}{:<6} {}", "function", "truth", "Clang says first");
  for (const auto& [name, truth, verdict, line] : cases) {
    cookbook::println("{:<18}{:<6} {}", name, truth, verdict);
    if (truth == "wrong") (verdict == "-" ? missed : refused).push_back(name);
    if (truth == "right" && verdict != "-") false_alarms.push_back(name);
  }

  cookbook::Checks checks;
  checks.equal("wrong, and refused", refused,
               {"forgotten", "add_without_lock", "early_return", "wrong_mutex", "locked_twice"});
  checks.equal("wrong, and not seen", missed, {"pointer_returned", "through_pointer", "in_opposite_order"});
  checks.equal("right, and refused", false_alarms, {"in_a_lambda", "if_wanted"});
  return checks.exit_code();
}
