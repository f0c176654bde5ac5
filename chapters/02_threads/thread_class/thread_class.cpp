// Thread as a class
//
// A Timer is an object whose call operator runs in a thread. The object keeps what the thread needs, a name and a
// period, and what it has done, the number of its ticks. Two timers tick five times each. A third one has a period of
// an hour; it is asked to stop, and ends at once, in the middle of its wait.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_class/thread_class.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_class
// Run:     thread_class [--ticks N] [--period-ms N]

#include <chrono>
#include <functional>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "timer.hpp"

int main(int argc, char** argv) {
  int ticks = 5, period_ms = 10;
  cookbook::Options options("Run objects in threads, and ask one to stop");
  options.add("ticks", ticks, "ticks of each timer", 1, 1'000);
  options.add("period-ms", period_ms, "time between two ticks of the first timer, in ms", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds period(period_ms);

  Timer one("Timer-1", period, ticks), two("Timer-2", 2 * period, ticks);
  std::jthread thread_one(std::ref(one));
  std::jthread thread_two(std::ref(two));
  thread_one.join();
  thread_two.join();
  cookbook::println("both timers have ended");

  Timer slow("Timer-3", std::chrono::hours(1), ticks);
  std::jthread thread_slow(std::ref(slow));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // by now Timer-3 probably waits for its first tick
  cookbook::println("asking Timer-3 to stop");
  thread_slow.request_stop();
  thread_slow.join();

  cookbook::Checks checks;
  checks.equal("ticks of Timer-1", one.ticks(), ticks);
  checks.equal("ticks of Timer-2", two.ticks(), ticks);
  checks.equal("ticks of Timer-3", slow.ticks(), 0);
  return checks.exit_code();
}
