// A first thread
//
// main starts a thread that greets ten times, with a pause after each greeting. The call that starts the thread returns
// at once, and main goes on: it prints its last line while the thread is still greeting. Then main joins the thread,
// that is, it waits until the thread has ended. Without that the checks would come too early.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_thread/first_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o first_thread
// Run:     first_thread [--greetings N] [--pause-ms N]

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

const std::string greeting = "Hello Parallel C++ CookBook!!";

/// What the thread does. It notes each line that it prints in `printed`.
void greet(int greetings, std::chrono::milliseconds pause, std::vector<std::string>& printed) {
  const auto print = [&](const std::string& line) {
    cookbook::println("{}", line);
    printed.push_back(line);
  };
  print("Thread Starting");
  for (int i = 0; i < greetings; ++i) {
    print(greeting);
    std::this_thread::sleep_for(pause);
  }
  print("Thread Ended");
}

/// Starts the thread and returns at once. The thread goes on after this call has ended, so it gets copies of
/// `greetings` and `pause`, which end with the call, and a reference to `printed`, which belongs to the caller.
std::jthread start_greeting(int greetings, std::chrono::milliseconds pause, std::vector<std::string>& printed) {
  return std::jthread([greetings, pause, &printed] { greet(greetings, pause, printed); });
}

}  // namespace

int main(int argc, char** argv) {
  int greetings = 10, pause_ms = 50;
  cookbook::Options options("Start a thread that greets while main goes on");
  options.add("greetings", greetings, "how often the thread greets", 0, 10'000);
  options.add("pause-ms", pause_ms, "pause after each greeting, in milliseconds", 0, 60'000);
  options.parse(argc, argv);

  std::vector<std::string> printed;  // by the thread; main may read it after join()
  cookbook::println("Process Started");
  std::jthread thread = start_greeting(greetings, std::chrono::milliseconds(pause_ms), printed);
  cookbook::println("Process Ended");  // stands for what main does meanwhile
  thread.join();                       // waits until the thread has ended

  cookbook::Checks checks;
  checks.equal("the thread's first line", printed.empty() ? "" : printed.front(), "Thread Starting");
  checks.equal("greetings", std::count(printed.begin(), printed.end(), greeting), greetings);
  checks.equal("the thread's last line", printed.empty() ? "" : printed.back(), "Thread Ended");
  return checks.exit_code();
}
