/// What it costs to stop one piece of work and to go on with another: in a bare coroutine, on Asio's loop, by threads.
#pragma once

#include <boost/asio.hpp>
#include <chrono>
#include <coroutine>
#include <functional>
#include <semaphore>
#include <thread>

#include "cookbook/figures.hpp"

/// The least that a coroutine type can be: its handle. It starts when it is resumed.
struct BareCoroutine {
  struct promise_type {
    BareCoroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

inline BareCoroutine stop_at_every_turn() {
  for (;;) co_await std::suspend_always();
}

inline void bare_resumes(int count) {
  const BareCoroutine coroutine = stop_at_every_turn();
  for (int i = 0; i < count; ++i) {
    cookbook::keep(coroutine.handle);  // else the compiler sees through it, and resumes nothing
    coroutine.handle.resume();
  }
  coroutine.handle.destroy();
}

inline void run_on_a_loop(boost::asio::awaitable<void> coroutine) {
  boost::asio::io_context loop(1);
  boost::asio::co_spawn(loop, std::move(coroutine), boost::asio::detached);
  loop.run();
}

inline boost::asio::awaitable<void> nothing() { co_return; }

inline boost::asio::awaitable<void> awaits(int count) {
  for (int i = 0; i < count; ++i) co_await nothing();
}

inline boost::asio::awaitable<void> turns_of_the_loop(int count) {
  for (int i = 0; i < count; ++i) co_await boost::asio::post(boost::asio::use_awaitable);
}

inline boost::asio::awaitable<void> sleeps(int count) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  for (int i = 0; i < count; ++i) {
    timer.expires_at(std::chrono::steady_clock::now());
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

inline void callbacks(int count) {
  boost::asio::io_context loop(1);
  std::function<void()> again = [&] {
    if (--count > 0) boost::asio::post(loop, [&] { again(); });
  };
  boost::asio::post(loop, [&] { again(); });
  loop.run();
}

/// Two threads that wake each other in turn, so many times in all.
inline void thread_switches(int count) {
  std::binary_semaphore ping(0), pong(0);
  std::jthread other([&] {
    for (int i = 0; i < count / 2; ++i) {
      ping.acquire();
      pong.release();
    }
  });
  for (int i = 0; i < count / 2; ++i) {
    ping.release();
    pong.acquire();
  }
}

inline void print_costs(const cookbook::Checks& checks) {
  if (!checks.passed()) return;
  constexpr int many = 20'000, few = 200;
  cookbook::Figures costs("stop and go on", cookbook::cost("ns", 1e-9));
  costs.percent_of("bare coroutine, resume()", "bare");
  costs.measure({{"bare coroutine, resume()", many, [] { bare_resumes(many); }},
                 {"co_await a coroutine that returns", many, [] { run_on_a_loop(awaits(many)); }},
                 {"callback by asio::post", many, [] { callbacks(many); }},
                 {"co_await asio::post", many, [] { run_on_a_loop(turns_of_the_loop(many)); }},
                 {"co_await a timer due at once", few, [] { run_on_a_loop(sleeps(few)); }},
                 {"another thread, by semaphores", few, [] { thread_switches(few); }}},
                7);
  costs.print(checks);
}
