// Event loop, measured: the cost of one callback
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/event_loop/event_loop_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o event_loop_bench
// Run:     event_loop_bench [--callbacks N] [--rounds N]

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <chrono>
#include <functional>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
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

int asio_posts(asio::io_context& loop, int count) {
  int called = 0;
  std::function<void()> again = [&] {
    if (++called < count) asio::post(loop, [&] { again(); });
  };
  asio::post(loop, [&] { again(); });
  loop.run();
  return called;
}

int asio_posts_one_thread(int count) {
  asio::io_context loop(1);  // only one thread will call run()
  return asio_posts(loop, count);
}

int asio_posts_any_threads(int count) {
  asio::io_context loop;
  return asio_posts(loop, count);
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

/// The system calls that each of Asio's timers makes here, and nothing else.
int timer_system_calls(int count) {
  const int timer = check(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
  const int ready = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  epoll_event event = {EPOLLIN, {.fd = timer}};
  check(epoll_ctl(ready, EPOLL_CTL_ADD, timer, &event), "epoll_ctl");
  const itimerspec far_away = {{}, {300, 0}}, due_at_once = {{}, {0, 1}};
  int called = 0;
  while (called < count) {
    check(timerfd_settime(timer, 0, &far_away, nullptr), "timerfd_settime");
    check(timerfd_settime(timer, TFD_TIMER_ABSTIME, &due_at_once, nullptr), "timerfd_settime");
    called += check(epoll_wait(ready, &event, 1, -1), "epoll_wait");
  }
  close(timer);
  close(ready);
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
  figures.measure({row("small loop, call_soon", callbacks, small_loop_callbacks),
                   row("small loop, call_later", callbacks, small_loop_timers),
                   row("asio::post, io_context(1)", callbacks, asio_posts_one_thread),
                   row("asio::post, io_context()", callbacks, asio_posts_any_threads),
                   row("asio::steady_timer, due at once", callbacks / 100, asio_timers),
                   row("its system calls alone", callbacks / 100, timer_system_calls)},
                  rounds);

  cookbook::Checks checks;
  checks.equal("runs with a wrong number of calls", wrong, 0);
  figures.print(checks);
  return checks.exit_code();
}
