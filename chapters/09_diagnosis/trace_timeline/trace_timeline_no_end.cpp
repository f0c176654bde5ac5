// Pitfall: a begin without an end
//
// The thread writes an event when a task begins, and another one when it ends. But a task whose input is empty returns
// early, and one whose input is wrong throws an exception: their ends are not written. A viewer takes the events of a
// thread for a stack of calls. So to it all later tasks are part of one that has never ended.
//
// Compile: g++ -std=c++20 -O2 chapters/09_diagnosis/trace_timeline/trace_timeline_no_end.cpp -pthread -o trace_timeline_no_end
// Run:     trace_timeline_no_end
// Symptom: exit 1, prints "2 tasks have never ended"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Event {
  char phase;  // B: begin, E: end
  std::string name;
  std::chrono::steady_clock::time_point time;
};

std::vector<Event> events;  // of one thread

void begin(const std::string& name) { events.push_back({'B', name, std::chrono::steady_clock::now()}); }
void end(const std::string& name) { events.push_back({'E', name, std::chrono::steady_clock::now()}); }

int length_of(const std::string& input) {
  begin("task");
  if (input.empty()) return 0;  // wrong: no end
  if (input == "?") throw std::invalid_argument("no text");
  const int length = static_cast<int>(input.size());
  end("task");
  return length;
}

void work() {
  int sum = 0;
  for (const std::string input : {"one", "", "three", "?", "five"}) {
    try {
      sum += length_of(input);
    } catch (const std::invalid_argument& error) {
      std::printf("left out: %s\n", error.what());
    }
  }
  std::printf("characters: %d\n", sum);
}

}  // namespace

int main() {
  std::thread(work).join();
  int depth = 0;
  for (const Event& event : events) {
    std::printf("%*s%c %s\n", event.phase == 'B' ? 2 * depth : 2 * (depth - 1), "", event.phase, event.name.c_str());
    depth += event.phase == 'B' ? 1 : -1;
  }
  if (depth == 0 && events.size() == 10) return 0;
  std::printf("%d tasks have never ended\n", depth);
  return 1;
}
