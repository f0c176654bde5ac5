// Find a deadlock
//
// Starts a program that hangs, waits until all of its threads sleep, and attaches the debugger gdb to it. From the
// owner of each mutex and the thread that waits for it follows who waits for whom, which threads wait in a circle, and
// which ones only wait for these.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/09_diagnosis chapters/09_diagnosis/find_deadlock/find_deadlock.cpp common/cookbook/*.cpp -lfmt -pthread -o find_deadlock
// Run:     find_deadlock

#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "run_tool.hpp"
#include "wait_graph.hpp"

namespace {

using namespace std::chrono_literals;

const std::string source_file = "find_deadlock_stores.cpp";

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
  return waiting_threads(look_by_debugger(hung.pid()), source_file);
}

/// The threads in the order in which they were started, north first, also if the system's numbers began anew after it.
std::vector<int> in_order_of_start(const std::map<int, Waiting>& waiting) {
  std::vector<int> threads;
  for (const auto& [thread, what] : waiting) threads.push_back(thread);
  const auto is_north = [&](int thread) { return waiting.at(thread).name == "north"; };
  std::rotate(threads.begin(), std::find_if(threads.begin(), threads.end(), is_north), threads.end());
  return threads;
}

void print_waiting(const std::map<int, Waiting>& waiting) {
  cookbook::println("{:<9}{:<11}{:<9}{}", "thread", "waits for", "held by", "at");
  for (const int thread : in_order_of_start(waiting)) {
    const Waiting& what = waiting.at(thread);
    const auto holder = waiting.find(what.holder);
    const std::string held_by = holder == waiting.end() ? std::to_string(what.holder) : holder->second.name;
    cookbook::println("{:<9}{:<11}{:<9}{}", what.name, what.mutex, held_by, what.place);
  }
}

/// The names of the threads in the circle, in its order.
std::vector<std::string> names_in_circle(const std::map<int, Waiting>& waiting) {
  std::vector<std::string> names;
  for (const int thread : find_circle(waiting)) names.push_back(waiting.at(thread).name);
  std::rotate(names.begin(), std::find(names.begin(), names.end(), "north"), names.end());
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Find out who waits for whom in a program that hangs");
  options.parse(argc, argv);
  require_tool("gdb", "gdb");

  const TemporaryFolder folder;
  const std::string program = folder.path() + "/stores";
  output_of_tool({"g++", "-std=c++20", "-g", beside(__FILE__, source_file), "-pthread", "-o", program});

  const std::map<int, Waiting> waiting = waiting_in(program);
  print_waiting(waiting);
  const std::vector<std::string> circle = names_in_circle(waiting);
  std::vector<std::string> others;
  for (const int thread : in_order_of_start(waiting)) {
    const std::string& name = waiting.at(thread).name;
    if (std::find(circle.begin(), circle.end(), name) == circle.end()) others.push_back(name);
  }

  cookbook::Checks checks;
  checks.equal("wait in a circle", circle, {"north", "east", "south"});
  checks.equal("outside of it", others, {"clerk", "auditor"});
  return checks.exit_code();
}
