// Event loop
//
// Three callbacks call one another in a ring, each a second after the one before, until nine seconds have passed: nine
// lines, without a thread and without a sleep. A callback only says what comes later, and returns; the loop waits.
// First on a loop of 60 lines with a virtual clock (small_loop.hpp), then on Boost.Asio's io_context in real time.
// At the end: what one callback costs.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/event_loop/event_loop.cpp common/cookbook/*.cpp -lfmt -pthread -o event_loop
// Run:     event_loop [--deadline S] [--second-ms N] [--chains N]

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "small_loop.hpp"

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

/// Callback k of the ring, on the virtual clock: notes its call, then schedules the next one or stops the loop.
void ring(SmallLoop& loop, double deadline, int k, std::vector<std::string>& calls) {
  calls.push_back(fmt::format("function_{} at {} s", k, loop.time()));
  if (loop.time() + 1 < deadline) {
    loop.call_later(1, [&loop, deadline, k, &calls] { ring(loop, deadline, k % 3 + 1, calls); });
  } else {
    loop.stop();
  }
}

std::vector<std::string> ring_on_the_small_loop(double deadline) {
  SmallLoop loop;
  std::vector<std::string> calls;
  loop.call_soon([&] { ring(loop, deadline, 1, calls); });
  loop.run();
  return calls;
}

/// The same on Asio, in real time: a ring of three callbacks, or (of one) a callback that schedules itself.
class Chain {
 public:
  Chain(asio::io_context& loop, std::vector<std::string> names, Clock::duration second, Clock::time_point deadline)
      : timer_(loop), loop_(loop), names_(std::move(names)), second_(second), deadline_(deadline) {}

  void start() {
    timer_.expires_at(Clock::now());
    asio::post(loop_, [this] { call(); });
  }

  int calls = 0;
  int early = 0;     ///< calls before their due time; must stay 0
  int overlaps = 0;  ///< calls while another callback of the loop was running; must stay 0

 private:
  void call() {
    if (running_++ > 0) ++overlaps;
    if (Clock::now() < timer_.expiry()) ++early;
    cookbook::println("{} called", names_[static_cast<std::size_t>(calls++) % names_.size()]);

    // From the due time, not from now: so the chain does not drift by the sum of its delays, and the number of calls
    // does not depend on the load of the machine.
    const Clock::time_point next = timer_.expiry() + second_;
    if (next < deadline_) {
      timer_.expires_at(next);
      timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) call();
      });
    } else {
      loop_.stop();
    }
    --running_;
  }

  static inline int running_ = 0;
  asio::steady_timer timer_;
  asio::io_context& loop_;
  std::vector<std::string> names_;
  Clock::duration second_;
  Clock::time_point deadline_;
};

/// Runs `count` callbacks on the small loop, each queued by the one before. The two functions below do so on Asio.
void small_loop_callbacks(int count) {
  SmallLoop loop;
  std::function<void()> again = [&] {
    if (--count > 0) loop.call_soon([&] { again(); });
  };
  loop.call_soon([&] { again(); });
  loop.run();
}

void asio_posts(int count) {
  asio::io_context loop(1);
  std::function<void()> again = [&] {
    if (--count > 0) asio::post(loop, [&] { again(); });
  };
  asio::post(loop, [&] { again(); });
  loop.run();
}

void asio_timers(int count) {
  asio::io_context loop(1);
  asio::steady_timer timer(loop);
  std::function<void(const boost::system::error_code&)> again = [&](const boost::system::error_code&) {
    if (--count <= 0) return;
    timer.expires_at(Clock::now());
    timer.async_wait([&](const boost::system::error_code& error) { again(error); });
  };
  again({});
  loop.run();
}

}  // namespace

int main(int argc, char** argv) {
  double deadline = 9;
  int second_ms = 100, chains = 1;
  cookbook::Options options("Three callbacks that schedule one another on an event loop");
  options.add("deadline", deadline, "seconds until the loop is stopped", 0, 1000);
  options.add("second-ms", second_ms, "milliseconds of real time that stand for a second", 1, 10'000);
  options.add("chains", chains, "1: the ring; 2: beside it a callback that schedules itself", 1, 2);
  options.parse(argc, argv);

  asio::io_context loop(1);
  const auto second = std::chrono::milliseconds(second_ms);
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline * second);
  Chain ring(loop, {"function_1", "function_2", "function_3"}, second, end);
  Chain self(loop, {"function_4"}, second, end);
  ring.start();
  if (chains == 2) self.start();
  loop.run();

  // Nine calls for nine seconds: at 0, 1, ..., 8, since the call at 9 would not be before the deadline.
  const int expected = std::max(1, static_cast<int>(std::ceil(deadline)));
  const std::vector<std::string> virtual_calls = ring_on_the_small_loop(deadline);
  cookbook::Checks checks;
  checks.equal("calls on the virtual clock", static_cast<int>(virtual_calls.size()), expected);
  checks.equal("last of them", virtual_calls.back(),
               fmt::format("function_{} at {} s", (expected - 1) % 3 + 1, expected - 1));
  checks.equal("calls on Asio's clock", ring.calls, expected);
  checks.equal("calls before their time", ring.early + self.early, 0);
  checks.equal("callbacks that overlapped", ring.overlaps + self.overlaps, 0);

  SmallLoop equal_times;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) equal_times.call_later(1, [&order, i] { order.push_back(i); });
  equal_times.run();
  checks.equal("timers due at once run in the order of scheduling", order, {0, 1, 2, 3, 4});

  SmallLoop stopped;
  int late = 0;
  stopped.call_later(1, [&] { stopped.stop(); });
  stopped.call_later(2, [&] { ++late; });
  stopped.run();
  checks.equal("callbacks run after stop", late, 0);
  checks.equal("callbacks left in the stopped loop", stopped.pending(), 1U);

  constexpr int count = 20'000, timers = 1000;
  cookbook::Figures costs("one callback", cookbook::cost("ns", 1e-9));
  costs.measure({{"call_soon on the small loop", count, [] { small_loop_callbacks(count); }},
                 {"asio::post", count, [] { asio_posts(count); }},
                 {"asio::steady_timer, due at once", timers, [] { asio_timers(timers); }}},
                5);
  costs.print(checks);
  return checks.exit_code();
}
