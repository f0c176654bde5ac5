// Find a deadlock
//
// Starts a program that hangs, waits until all of its threads sleep, and attaches the debugger gdb to it. From the
// owner of each mutex and the thread that waits for it follows who waits for whom, and which threads wait in a circle.
// Then ThreadSanitizer watches a run of the same program that does not hang, and reports the circle all the same.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/09_diagnosis chapters/09_diagnosis/find_deadlock/find_deadlock.cpp common/cookbook/*.cpp -lfmt -pthread -o find_deadlock
// Run:     find_deadlock

#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "run_tool.hpp"
#include "wait_graph.hpp"

namespace {

using namespace std::chrono_literals;

const std::string source = "find_deadlock_stores.cpp";

/// Whether all threads of a process sleep, by the third word of /proc/PID/task/TID/stat.
bool is_asleep(pid_t process) {
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream stat(thread.path() / "stat");
    std::string number, name, state;
    stat >> number >> name >> state;  // "123 (north) S ..."
    if (state != "S") return false;
  }
  return true;
}

/// Attaches gdb to a process, and returns what it prints about all threads.
std::string look_by_debugger(pid_t process) {
  const auto [code, text] = run_tool(
      {"env", "DEBUGINFOD_URLS=", "gdb", "--nx", "--batch", "-p", std::to_string(process), "-ex", "set width 0", "-ex",
       "tfaas print this->_M_mutex.__data.__owner", "-ex", "thread apply all backtrace"});
  if (text.find("ptrace: ") == std::string::npos) return text;
  cookbook::println("skipped: gdb may not attach to another process here");
  std::exit(77);
}

/// Starts the program, waits until it hangs, and returns the threads that wait for a mutex.
std::map<int, Waiting> waiting_in(const std::string& program) {
  const auto let_attach = [] { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); };  // fails where nobody forbids it
  cookbook::ChildProgram hung({program}, cookbook::ChildProcess::Output::piped, let_attach);
  hung.read_until("all threads are started");
  for (int seen = 0; seen < 10; seen = is_asleep(hung.pid()) ? seen + 1 : 0) std::this_thread::sleep_for(20ms);
  return waiting_threads(look_by_debugger(hung.pid()), source);
}

/// Prints who waits for whom. Returns the names of the threads in the circle, in its order.
std::vector<std::string> print_waiting(const std::map<int, Waiting>& waiting) {
  cookbook::println("{:<9}{:<11}{:<9}{}", "thread", "waits for", "held by", "at");
  for (const auto& [thread, what] : waiting) {
    const auto holder = waiting.find(what.holder);
    const std::string held_by = holder == waiting.end() ? std::to_string(what.holder) : holder->second.name;
    cookbook::println("{:<9}{:<11}{:<9}{}", what.name, what.mutex, held_by, what.place);
  }
  std::vector<std::string> names;
  for (const int thread : find_circle(waiting)) names.push_back(waiting.at(thread).name);
  return names;
}

/// Prints what ThreadSanitizer says about the order of locks, without stacks. Its numbers of mutexes (M9) are replaced
/// by 1, 2, 3, its numbers of threads (T1) by names. Returns each pair "locked, while holding".
std::vector<std::vector<int>> print_lock_orders(const std::string& report) {
  static const std::regex acquired("Mutex M(\\d+) acquired here while holding mutex M(\\d+) in (?:thread )?(.*):");
  static const std::regex frame(" [^ ]*/(" + source + ":\\d+) ");
  static const std::regex name_of_thread("Thread (T\\d+) '(\\w+)'");
  std::map<std::string, std::string> names;
  for (auto match = std::sregex_iterator(report.begin(), report.end(), name_of_thread); match != std::sregex_iterator();
       ++match) {
    names[match->str(1)] = match->str(2);
  }
  std::map<std::string, int> numbers;
  std::vector<std::vector<int>> orders;
  const auto number = [&](const std::string& name) {
    return numbers.emplace(name, static_cast<int>(numbers.size()) + 1).first->second;
  };
  bool in_stack = false;
  for (const std::string& line : lines_of(report)) {
    std::smatch match;
    if (std::regex_search(line, match, acquired)) {
      const int held = number(match[2]);
      orders.push_back({number(match[1]), held});
      cookbook::println("{} locks mutex {} while it holds mutex {}", names[match.str(3)], orders.back()[0], held);
      in_stack = true;
    } else if (in_stack && std::regex_search(line, match, frame)) {
      cookbook::println("  {}", match.str(1));
      in_stack = false;
    }
  }
  return orders;
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Find out who waits for whom in a program that hangs");
  options.parse(argc, argv);
  require_tool("gdb", "gdb");

  const TemporaryFolder folder;
  const std::string plain = folder.path() + "/plain", sanitized = folder.path() + "/sanitized";
  const std::string path = beside(__FILE__, source);
  outputs_of_tools({{"g++", "-std=c++20", "-g", path, "-pthread", "-o", plain},
                    {"g++", "-std=c++20", "-g", "-fsanitize=thread", path, "-pthread", "-o", sanitized}});

  cookbook::println("gdb, in a run that hangs:");
  std::vector<std::string> circle = print_waiting(waiting_in(plain));
  // From north on, also if the system's numbers began anew after north was started.
  std::rotate(circle.begin(), std::find(circle.begin(), circle.end(), "north"), circle.end());
  cookbook::println("ThreadSanitizer, in a run that ends:");
  // -R: addresses are not random; with some kernels this ThreadSanitizer does not start otherwise.
  const auto orders =
      print_lock_orders(output_of_tool({"env", "TSAN_OPTIONS=exitcode=0", "setarch", "-R", sanitized, "in-turns"}));

  cookbook::Checks checks;
  checks.equal("the circle", circle, {"north", "east", "south"});
  checks.equal("mutexes locked and held in the report", orders, {{2, 1}, {3, 2}, {1, 3}});
  return checks.exit_code();
}
