// Thread as a class
//
// A Timer is an object whose call operator runs in a thread. First, two timers are asked to stop while they wait: one
// that sleeps, and ends when its period is over, and one that waits with its stop token, and ends at once. Then two
// timers run at the same time. Each keeps what its thread needs, a period, and what the thread has done, the times of
// its ticks, which main reads after the join.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_class/thread_class.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_class
// Run:     thread_class [--ticks N] [--period-ms N]

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "timer.hpp"

namespace {

using namespace std::chrono_literals;

/// The naive form: it looks for a stop request only between two periods.
struct SleepingTimer {
  const std::chrono::milliseconds period;
  int ticks = 0;

  void operator()(std::stop_token stop) {
    do {
      std::this_thread::sleep_for(period);
      ++ticks;
    } while (!stop.stop_requested());
  }
};

/// Runs `timer` in a thread, asks it to stop, and prints how long it then takes to end.
template <typename AnyTimer>
void ask_to_end(std::string_view what, AnyTimer& timer) {
  std::jthread thread(std::ref(timer));
  std::this_thread::sleep_for(20ms);  // by now the timer usually waits for its first tick
  const cookbook::Stopwatch watch;
  thread.request_stop();
  thread.join();
  cookbook::println("  {:<46}ended {:5.1f} ms later", what, watch.seconds() * 1000);
}

void print_ticks(std::string_view name, const Timer& timer) {
  std::string line;
  for (const double time : timer.times()) line += fmt::format("{:8.1f} ms", time * 1000);
  cookbook::println("  {} ticked after{}", name, line);
}

}  // namespace

int main(int argc, char** argv) {
  int ticks = 3, period_ms = 10;
  cookbook::Options options("Run objects in threads, and ask one to stop");
  options.add("ticks", ticks, "ticks of each timer", 1, 1'000);
  options.add("period-ms", period_ms, "time between two ticks of the first timer, in ms", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds period(period_ms);

  cookbook::println("asked to stop after 20 ms, while they wait for their first tick:");
  SleepingTimer sleeping{300ms};
  ask_to_end("a timer that sleeps, period of 300 ms:", sleeping);
  Timer waiting(1h, /*most_ticks=*/1000);
  ask_to_end("a timer with a stop token, period of an hour:", waiting);

  cookbook::println("two timers at the same time, periods of {} ms and of twice as long:", period_ms);
  Timer one(period, ticks), two(2 * period, ticks);
  std::jthread thread_one(std::ref(one));
  std::jthread thread_two(std::ref(two));
  thread_one.join();
  thread_two.join();
  print_ticks("Timer-1", one);
  print_ticks("Timer-2", two);

  cookbook::Checks checks;
  checks.equal("ticks of Timer-1, Timer-2, and the one with an hour",
               std::vector{one.ticks(), two.ticks(), waiting.ticks()}, {ticks, ticks, 0});
  checks.that("the timer that sleeps ticked before it ended", sleeping.ticks > 0);
  return checks.exit_code();
}
