// Event loop, measured: the cost of one callback
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/event_loop/event_loop_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o event_loop_bench
// Run:     event_loop_bench [--callbacks N] [--rounds N]

#include <boost/asio.hpp>
#include <chrono>
#include <functional>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "small_loop.hpp"

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Each of these runs `count` callbacks, and each callback schedules the next one. They return how many have run.

int small_loop_callbacks(int count) {
  SmallLoop loop;
  int called = 0;
  std::function<void()> again = [&] {
    if (++called < count) loop.call_soon([&] { again(); });
  };
  loop.call_soon([&] { again(); });
  loop.run();
  return called;
}

int small_loop_timers(int count) {
  SmallLoop loop;
  int called = 0;
  std::function<void()> again = [&] {
    if (++called < count) loop.call_later(1, [&] { again(); });
  };
  loop.call_soon([&] { again(); });
  loop.run();
  return called;
}

int asio_posts(int count) {
  asio::io_context loop(1);
  int called = 0;
  std::function<void()> again = [&] {
    if (++called < count) asio::post(loop, [&] { again(); });
  };
  asio::post(loop, [&] { again(); });
  loop.run();
  return called;
}

int asio_timers(int count) {
  asio::io_context loop(1);
  asio::steady_timer timer(loop);
  int called = 0;
  std::function<void()> again = [&] {
    if (++called == count) return;
    timer.expires_at(Clock::now());
    timer.async_wait([&](const boost::system::error_code&) { again(); });
  };
  again();
  loop.run();
  return called;
}

}  // namespace

int main(int argc, char** argv) {
  int callbacks = 100'000, rounds = 11;
  cookbook::Options options("What it costs an event loop to call a callback");
  options.add("callbacks", callbacks, "callbacks that a run calls; a hundredth of them by Asio's timers", 100,
              10'000'000);
  options.add("rounds", rounds, "measured runs of each kind", 1, 1'000);
  options.parse(argc, argv);
  cookbook::pin(0);

  int wrong = 0;
  const auto row = [&](const char* name, int count, int (*run)(int)) {
    return cookbook::Benchmark(name, count, [&wrong, count, run] { wrong += run(count) != count; });
  };
  cookbook::Figures figures("one callback", cookbook::cost("ns", 1e-9));
  figures.percent_of("small loop, call_soon", "call_soon");
  figures.measure(
      {row("small loop, call_soon", callbacks, small_loop_callbacks),
       row("small loop, call_later", callbacks, small_loop_timers), row("asio::post", callbacks, asio_posts),
       row("asio::steady_timer, due at once", callbacks / 100, asio_timers)},
      rounds);

  cookbook::Checks checks;
  checks.equal("runs with a wrong number of calls", wrong, 0);
  figures.print(checks);
  return checks.exit_code();
}
