// Event loop
//
// First one thread looks after three things, which are due every two, three and five seconds: a callback never waits,
// it tells the loop what is to be called later, and returns. That is on a loop of the program's own (small_loop.hpp),
// whose clock is virtual. Then a callback comes every 20 ms on Boost.Asio's loop, on a real clock, and the program
// prints how late: in one form the next period is counted from now, in the other from the time when this call was due.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/event_loop/event_loop.cpp common/cookbook/*.cpp -lfmt -pthread -o event_loop
// Run:     event_loop [--deadline S] [--period-ms N] [--work-us N]

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "small_loop.hpp"

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

/// Returns the periods of the callbacks in the order in which they were called.
std::vector<int> three_periods(int deadline) {
  SmallLoop loop;
  std::vector<int> called;
  std::function<void(int)> call = [&](int period) {
    cookbook::println("{:>3} s  what is due every {} s", loop.time(), period);
    called.push_back(period);
    loop.call_later(period, [&call, period] { call(period); });
  };
  loop.call_later(deadline, [&] { loop.stop(); });
  for (const int period : {2, 3, 5}) loop.call_later(period, [&call, period] { call(period); });
  loop.run();
  return called;
}

/// Keeps the processor busy for so long, as a callback does that computes.
void compute_for(Clock::duration work) {
  for (const auto end = Clock::now() + work; Clock::now() < end;) continue;
}

/// From when a callback counts the period to the next call.
enum class From { now, due };

/// Calls a callback in each period, nine times; returns by how many milliseconds each call came late.
std::vector<double> late_on_asio(Clock::duration period, Clock::duration work, From from) {
  asio::io_context loop;
  asio::steady_timer timer(loop);
  const Clock::time_point start = Clock::now();
  Clock::time_point due = start;
  std::vector<double> late_ms;
  std::function<void()> call = [&] {
    const Clock::time_point planned = start + std::ssize(late_ms) * period;
    late_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - planned).count());
    compute_for(work);
    if (late_ms.size() == 9) return;
    due = (from == From::now ? Clock::now() : due) + period;
    timer.expires_at(due);
    timer.async_wait([&](const boost::system::error_code&) { call(); });
  };
  asio::post(loop, [&] { call(); });
  loop.run();  // until nothing is left to wait for
  return late_ms;
}

}  // namespace

int main(int argc, char** argv) {
  int deadline = 7, period_ms = 20, work_us = 1'000;
  cookbook::Options options("Callbacks that are due at different times, on an event loop");
  options.add("deadline", deadline, "seconds after which the small loop is stopped", 0, 1000);
  options.add("period-ms", period_ms, "milliseconds between two calls on Asio's loop", 1, 10'000);
  options.add("work-us", work_us, "microseconds that each callback computes there", 0, 1'000'000);
  options.parse(argc, argv);

  // Of two that are due together the one that was scheduled first goes first: the one with the longer period.
  std::vector<int> expected;
  for (int now = 1; now <= deadline; ++now) {
    for (const int period : {5, 3, 2}) {
      if (now % period == 0) expected.push_back(period);
    }
  }

  cookbook::println("a small loop, on a virtual clock that is stopped after {} s", deadline);
  const std::vector<int> called = three_periods(deadline);
  const std::chrono::milliseconds period(period_ms);
  const std::chrono::microseconds work(work_us);
  const std::vector<double> from_now = late_on_asio(period, work, From::now);
  const std::vector<double> from_due = late_on_asio(period, work, From::due);
  cookbook::println("Asio's loop, on a real clock: a call every {} ms, which computes for {} us", period_ms, work_us);
  cookbook::println("due at   late, counted from now   late, counted from due");
  for (const int i : {0, 4, 8}) {
    cookbook::println("{:>3} ms{:18.2f} ms{:22.2f} ms", i * period_ms, from_now[i], from_due[i]);
  }

  cookbook::Checks checks;
  checks.equal("called, by their periods", called, expected);
  checks.that("no call came early", std::ranges::min(from_now) >= 0 && std::ranges::min(from_due) >= 0);
  return checks.exit_code();
}
