// Pitfall: a line of the log that comes from outside
//
// A worker writes a line for each task that it gets, with the task's name. Whoever can post a task chooses the name,
// and this one has a line feed in it. So the log has a second line, about a task that nobody has posted.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/celery_monitor/celery_monitor_forged.cpp -o celery_monitor_forged
// Run:     celery_monitor_forged
// Symptom: exit 1, prints "2 lines for 1 task"

#include <algorithm>
#include <cstdio>
#include <string>

namespace {

/// The line of the log for a task.
std::string received(const std::string& name) {
  return "Received task: " + name + "\n";  // wrong: the name may have line feeds
}

}  // namespace

int main() {
  const std::string log = received("addTask.add\nReceived task: bank.pay");
  std::fputs(log.c_str(), stdout);
  const auto lines = std::count(log.begin(), log.end(), '\n');
  if (lines == 1) return 0;
  std::printf("%ld lines for 1 task\n", static_cast<long>(lines));
  return 1;
}
