// Container
//
// What does a process see in a container that it does not see outside, and the other way round? The program starts the
// same server twice without an engine, each time in a container made by hand, asks it what it sees, and sets that
// beside what it sees when it is started as usual. Then it starts it once more for each line, with one step left out:
// which call or flag makes the difference? The calls are in start_isolated, in isolated.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/container/container.cpp common/cookbook/*.cpp -lfmt -pthread -o container
// Run:     run.sh BIN, which unpacks the image; or container --root FOLDER

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "isolated.hpp"

namespace {

/// The lines "what: value" of a view, as pairs.
std::vector<std::pair<std::string, std::string>> lines_of(const std::string& view) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::istringstream text(view);
  for (std::string line; std::getline(text, line);) {
    const auto colon = line.find(": ");
    lines.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return lines;
}

/// The steps of start_isolated, in the order of the lines of a view.
constexpr std::array<const char*, 6> steps = {"CLONE_NEWPID", "CLONE_NEWNET",    "execve",
                                              "close_range",  "PR_CAPBSET_DROP", "chroot"};

/// What the program sees in a container for which one step was left out.
std::string view_without(const std::string& step, const std::string& root) {
  const auto work = [&] { cookbook::exit_code_of(start_isolated(root, step, "view")); };
  return cookbook::ChildProcess(work).read_all();
}

/// Prints both views side by side, and what each line says if its step is left out; of many files how many there are.
void compare(const std::string& outside, const std::string& inside, const std::string& root) {
  const auto value = [](const std::string& view, std::size_t line) {
    const std::string text = lines_of(view).at(line).second;
    const auto names = std::count(text.begin(), text.end(), ' ') + 1;
    return names > 2 ? fmt::format("{} names", names) : text;
  };
  cookbook::println("{:<30}{:<11}{:<16}without this step", "a process sees", "outside", "in a container");
  for (std::size_t i = 0; const auto& [what, seen] : lines_of(outside)) {
    cookbook::println("{:<30}{:<11}{:<16}{:<9} {}", what, value(outside, i), value(inside, i),
                      value(view_without(steps.at(i), root), i), steps.at(i));
    ++i;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string root = "greeting";
  cookbook::Options options("Start the program of an image in two containers made by hand");
  options.add("root", root, "the folder with the files of the image");
  options.parse(argc, argv);

  try {
    check(open("/", O_RDONLY | O_DIRECTORY),
          "open");  // stays open on purpose: children inherit it if one takes no care
    const std::string outside = cookbook::ChildProgram({root + "/greeting", "view"}).read_all();
    if (!may_isolate()) throw std::system_error(errno, std::generic_category(), "unshare");
    Isolated first(root), second(root);
    const std::string inside = first.get("/view");
    compare(outside, inside, root);

    const auto values_of = [](const std::string& view) {
      std::vector<std::string> values;
      for (const auto& [what, value] : lines_of(view)) values.push_back(value);
      return values;
    };
    cookbook::Checks checks;
    checks.equal("what the first container sees", values_of(inside), {"1", "1", "0", "0", "0", "greeting"});
    checks.equal("what the second one sees", values_of(second.get("/view")), {"1", "1", "0", "0", "0", "greeting"});
    checks.equal("exit codes of both after SIGTERM", std::vector{first.stop(), second.stop()}, {0, 0});
    return checks.exit_code();
  } catch (const std::system_error& error) {
    const bool not_allowed = error.code() == std::errc::operation_not_permitted || error.code().value() == ENOSPC;
    cookbook::println("{}{}", not_allowed ? "skipped: this system allows no namespaces: " : "", error.what());
    return not_allowed ? 77 : 3;
  }
}
