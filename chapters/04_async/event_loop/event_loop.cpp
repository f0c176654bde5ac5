// Event loop
//
// Three callbacks call one another in a ring, each a second after the one before, until nine seconds have passed: nine
// calls in one thread. A callback never waits. It tells the loop what is to be called later, and returns; the loop
// waits for all of them. The program does this on a loop of its own (small_loop.hpp), whose clock is virtual, and then
// on Boost.Asio's loop, in real time.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/event_loop/event_loop.cpp common/cookbook/*.cpp -lfmt -pthread -o event_loop
// Run:     event_loop [--deadline S] [--second-ms N]

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "small_loop.hpp"

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

/// Returns the numbers of the callbacks in the order in which they were called.
std::vector<int> ring_on_small_loop(double deadline) {
  SmallLoop loop;
  std::vector<int> called;
  std::function<void(int)> call = [&](int k) {
    cookbook::println("{} s: function_{} called", loop.time(), k);
    called.push_back(k);
    if (loop.time() + 1 < deadline) {
      loop.call_later(1, [&call, k] { call(k % 3 + 1); });
    } else {
      loop.stop();
    }
  };
  loop.call_soon([&] { call(1); });
  loop.run();
  return called;
}

std::vector<int> ring_on_asio(double deadline, Clock::duration second) {
  asio::io_context loop;
  asio::steady_timer timer(loop, Clock::now());  // nobody waits for it yet: it holds the time of the first call
  const Clock::time_point end = timer.expiry() + std::chrono::duration_cast<Clock::duration>(deadline * second);
  std::vector<int> called;
  std::function<void(int)> call = [&](int k) {
    called.push_back(k);
    const Clock::time_point next = timer.expiry() + second;  // counted from when this call was due, not from now
    if (next >= end) return loop.stop();
    timer.expires_at(next);
    timer.async_wait([&call, k](const boost::system::error_code& error) {
      if (!error) call(k % 3 + 1);
    });
  };
  asio::post(loop, [&] { call(1); });
  loop.run();
  return called;
}

}  // namespace

int main(int argc, char** argv) {
  double deadline = 9;
  int second_ms = 20;
  cookbook::Options options("Three callbacks that schedule one another on an event loop");
  options.add("deadline", deadline, "seconds after which the loop is stopped", 0, 1000);
  options.add("second-ms", second_ms, "milliseconds that a second takes on Asio's loop", 1, 10'000);
  options.parse(argc, argv);

  // Nine calls for nine seconds: at 0, 1, ..., 8, since the call at 9 would not be before the deadline. The first call
  // comes even if the deadline is 0.
  std::vector<int> expected(std::max(1, static_cast<int>(std::ceil(deadline))));
  for (int i = 0; i < static_cast<int>(expected.size()); ++i) expected[i] = i % 3 + 1;

  cookbook::Checks checks;
  checks.equal("called on the small loop", ring_on_small_loop(deadline), expected);
  checks.equal("called on Asio's loop", ring_on_asio(deadline, std::chrono::milliseconds(second_ms)), expected);

  SmallLoop loop;
  std::vector<int> order;
  for (int i = 1; i <= 3; ++i) loop.call_later(1, [&order, i] { order.push_back(i); });
  loop.run();
  checks.equal("timers due together, called in the order of scheduling", order, {1, 2, 3});
  return checks.exit_code();
}
