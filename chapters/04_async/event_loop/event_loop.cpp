// Event loop
//
// Three callbacks call one another in a ring, each a second after the one before, until nine seconds have passed: nine
// calls in one thread. A callback never waits. It tells the loop what is to be called later, and returns. The program
// does this on a loop of its own (small_loop.hpp), whose clock is virtual, and then twice on Boost.Asio's loop, in real
// time. It prints how late each call came, if the next second is counted from now, and if it is counted from the time
// when the call was due.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/event_loop/event_loop.cpp common/cookbook/*.cpp -lfmt -pthread -o event_loop
// Run:     event_loop [--deadline S] [--second-ms N] [--work-us N]

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

/// Returns the numbers of the callbacks in the order in which they were called. No call comes at the deadline or later.
std::vector<int> ring_on_small_loop(double deadline) {
  SmallLoop loop;
  std::vector<int> called;
  std::function<void(int)> call = [&](int k) {
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

/// Keeps the processor busy for so long, as a callback does that computes.
void compute_for(Clock::duration work) {
  for (const auto end = Clock::now() + work; Clock::now() < end;) continue;
}

/// From when the callback counts the second to the next call.
enum class From { now, due };

struct Ring {
  std::vector<int> called;
  std::vector<double> late_ms;  ///< how long after its whole second each call came
};

Ring ring_on_asio(double deadline, Clock::duration second, Clock::duration work, From from) {
  asio::io_context loop;
  asio::steady_timer timer(loop, Clock::now());  // nobody waits for it yet: it holds the time of the first call
  const Clock::time_point start = timer.expiry();
  Ring ring;
  std::function<void(int)> call = [&](int k) {
    const auto calls = static_cast<int>(ring.called.size());
    ring.late_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start - calls * second).count());
    ring.called.push_back(k);
    compute_for(work);
    if (calls + 1 >= deadline) return loop.stop();
    if (from == From::now) {
      timer.expires_after(second);
    } else {
      timer.expires_at(timer.expiry() + second);
    }
    timer.async_wait([&call, k](const boost::system::error_code& error) {
      if (!error) call(k % 3 + 1);
    });
  };
  asio::post(loop, [&] { call(1); });
  loop.run();
  return ring;
}

}  // namespace

int main(int argc, char** argv) {
  double deadline = 9;
  int second_ms = 20, work_us = 1'000;
  cookbook::Options options("Three callbacks that schedule one another on an event loop");
  options.add("deadline", deadline, "seconds after which the loop is stopped", 0, 1000);
  options.add("second-ms", second_ms, "milliseconds that a second takes on Asio's loop", 1, 10'000);
  options.add("work-us", work_us, "microseconds that each callback computes", 0, 1'000'000);
  options.parse(argc, argv);

  // Nine calls for nine seconds: at 0, 1, ..., 8, since the call at 9 would not be before the deadline. The first call
  // comes even if the deadline is 0.
  std::vector<int> expected(std::max(1, static_cast<int>(std::ceil(deadline))));
  for (int i = 0; i < static_cast<int>(expected.size()); ++i) expected[i] = i % 3 + 1;

  const std::vector<int> small = ring_on_small_loop(deadline);
  const std::chrono::milliseconds second(second_ms);
  const std::chrono::microseconds work(work_us);
  const Ring from_now = ring_on_asio(deadline, second, work, From::now);
  const Ring from_due = ring_on_asio(deadline, second, work, From::due);
  cookbook::println("                    late, if the next second is counted");
  cookbook::println("due at   callback       from now     from when it was due");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    cookbook::println("{:>4} s {:>8}{:14.1f} ms{:15.1f} ms", i, small.at(i), from_now.late_ms.at(i),
                      from_due.late_ms.at(i));
  }

  cookbook::Checks checks;
  checks.equal("called on the small loop", small, expected);
  checks.equal("called on Asio's loop", from_due.called, expected);
  checks.equal("called on Asio's loop, counted from now", from_now.called, expected);
  return checks.exit_code();
}
