// A first thread
//
// main lets greet() greet three times, with a pause after each greeting, and has work of its own, of 80 ms. First it
// calls greet() as a function, and begins its own work when that returns. Then it starts a thread that runs greet(),
// and goes on at once: both happen at the same time. The times at the beginning of the lines show who waits for whom.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_thread/first_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o first_thread
// Run:     first_thread [--greetings N] [--pause-ms N] [--work-ms N]

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using std::chrono::milliseconds;

/// Prints a line with the time since `watch` was made.
void say(const cookbook::Stopwatch& watch, std::string_view who, std::string_view what) {
  cookbook::println("{:6.0f} ms  {:<8}{}", watch.seconds() * 1000, who, what);
}

/// Greets, and puts into `from` for each greeting which thread it came from.
void greet(std::string_view who, int greetings, milliseconds pause, std::vector<std::thread::id>& from,
           cookbook::Stopwatch watch) {
  for (int i = 0; i < greetings; ++i) {
    say(watch, who, "Hello Parallel C++ CookBook!!");
    from.push_back(std::this_thread::get_id());
    std::this_thread::sleep_for(pause);
  }
}

/// What main has to do besides; the sleep stands for it.
void own_work(const cookbook::Stopwatch& watch, milliseconds duration) {
  say(watch, "main", "begins its own work");
  std::this_thread::sleep_for(duration);
  say(watch, "main", "has done its own work");
}

}  // namespace

int main(int argc, char** argv) {
  int greetings = 3, pause_ms = 50, work_ms = 80;
  cookbook::Options options("Start a thread that greets while main goes on");
  options.add("greetings", greetings, "how often it greets", 1, 10'000);
  options.add("pause-ms", pause_ms, "pause after each greeting, in milliseconds", 0, 60'000);
  options.add("work-ms", work_ms, "main's own work, in milliseconds", 0, 60'000);
  options.parse(argc, argv);
  const milliseconds pause(pause_ms), work(work_ms);

  cookbook::println("greet() called as a function:");
  std::vector<std::thread::id> from_call;
  const cookbook::Stopwatch call_watch;
  greet("main", greetings, pause, from_call, call_watch);
  own_work(call_watch, work);

  cookbook::println("greet() run by a thread:");
  std::vector<std::thread::id> from_thread;  // main may read it after join()
  const cookbook::Stopwatch thread_watch;
  std::jthread thread([&] { greet("thread", greetings, pause, from_thread, thread_watch); });
  own_work(thread_watch, work);  // while the thread greets
  thread.join();                 // waits until the thread has ended
  say(thread_watch, "main", "join() has returned");

  const std::thread::id main_thread = std::this_thread::get_id();
  cookbook::Checks checks;
  checks.equal("greetings from main, by the call", std::count(from_call.begin(), from_call.end(), main_thread),
               greetings);
  checks.equal("greetings of the thread, after join()", from_thread.size(), std::size_t(greetings));
  checks.equal("of the thread's greetings, from main", std::count(from_thread.begin(), from_thread.end(), main_thread),
               0);
  return checks.exit_code();
}
