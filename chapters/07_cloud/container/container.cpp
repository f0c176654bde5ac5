// Container
//
// What does a process see in a container that it does not see outside, and the other way round? The program starts the
// same server twice without an engine, each time in a container made by hand, asks it what it sees, sets that beside
// what it sees when it is started as usual, and names the system call that makes the difference.
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

/// What the web server in a container answers to GET.
std::string get(const Isolated& container, const std::string& path) {
  const int server = container.connect_to(5000);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: container\r\n\r\n";
  send(server, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[1024];
  for (ssize_t count; (count = recv(server, part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(count));
  }
  close(server);
  const auto end_of_head = answer.find("\r\n\r\n");
  return end_of_head == answer.npos ? answer : answer.substr(end_of_head + 4);
}

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

/// What isolated.hpp does so that the container's process sees something else, line by line.
constexpr std::array<const char*, 6> means = {"CLONE_NEWPID", "CLONE_NEWNET", "execve",
                                              "close_range",  "capset",       "chroot"};

/// Prints both views side by side; of many files how many there are.
void compare(const std::string& outside, const std::string& inside) {
  const auto shown = [](const std::string& value) {
    const auto names = std::count(value.begin(), value.end(), ' ') + 1;
    return names > 2 ? fmt::format("{} names", names) : value;
  };
  cookbook::println("{:<32}{:<16}{:<16}by", "a process sees", "outside", "in a container");
  const auto there = lines_of(inside);
  for (std::size_t i = 0; const auto& [what, value] : lines_of(outside)) {
    cookbook::println("{:<32}{:<16}{:<16}{}", what, shown(value), shown(there.at(i).second), means.at(i));
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
    check(open("/", O_RDONLY | O_DIRECTORY), "open");  // a file that children inherit, unless one takes care
    const std::string outside = cookbook::ChildProgram({root + "/greeting", "view"}).read_all();
    if (!may_isolate()) throw std::system_error(errno, std::generic_category(), "unshare");
    Isolated first(root), second(root);
    const std::string inside = get(first, "/view");
    compare(outside, inside);

    const auto values_of = [](const std::string& view) {
      std::vector<std::string> values;
      for (const auto& [what, value] : lines_of(view)) values.push_back(value);
      return values;
    };
    cookbook::Checks checks;
    checks.equal("what the first container sees", values_of(inside), {"1", "1", "0", "0", "0", "greeting"});
    checks.equal("what the second one sees", values_of(get(second, "/view")), {"1", "1", "0", "0", "0", "greeting"});
    checks.equal("exit codes of both after SIGTERM", std::vector{first.stop(), second.stop()}, {0, 0});
    return checks.exit_code();
  } catch (const std::system_error& error) {
    const bool not_allowed = error.code() == std::errc::operation_not_permitted || error.code().value() == ENOSPC;
    cookbook::println("{}{}", not_allowed ? "skipped: this system allows no namespaces: " : "", error.what());
    return not_allowed ? 77 : 3;
  }
}
