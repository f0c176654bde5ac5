// Async tasks, measured: what it costs to suspend a piece of work and to go on with it
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/async_tasks/async_tasks_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o async_tasks_bench
// Run:     async_tasks_bench [--switches N] [--rounds N]

#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace asio = boost::asio;

namespace {

/// The least that a coroutine type can be: a handle. The coroutine starts when it is resumed for the first time.
struct BareCoroutine {
  struct promise_type {
    BareCoroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

BareCoroutine count_resumes(int& count) {
  for (;; ++count) co_await std::suspend_always();
}

// Each of these suspends and goes on `switches` times, and returns how often it has done so.

int bare_resumes(int switches) {
  int count = 0;
  const BareCoroutine coroutine = count_resumes(count);
  coroutine.handle.resume();  // to the first co_await
  for (int i = 0; i < switches; ++i) {
    cookbook::do_not_optimize(coroutine.handle);  // otherwise the compiler may see what resume() does, and leave it out
    coroutine.handle.resume();
  }
  coroutine.handle.destroy();
  return count;
}

int on_a_loop(asio::awaitable<void> coroutine, const int& count) {
  asio::io_context loop(1);
  asio::co_spawn(loop, std::move(coroutine), asio::detached);
  loop.run();
  return count;
}

asio::awaitable<void> add_one(int& count) {
  ++count;
  co_return;
}

asio::awaitable<void> await_coroutines(int switches, int& count) {
  for (int i = 0; i < switches; ++i) co_await add_one(count);
}

asio::awaitable<void> await_posts(int switches, int& count) {
  for (int i = 0; i < switches; ++i, ++count) co_await asio::post(asio::use_awaitable);
}

asio::awaitable<void> await_timers(int switches, int& count) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < switches; ++i, ++count) {
    timer.expires_at(std::chrono::steady_clock::now());
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// Two threads that wait for each other in turn. They stay on one core, as the coroutines do. libstdc++'s wait() calls
/// sched_yield() before it sleeps, and then the other thread runs, so they hardly ever sleep.
int thread_switches(int switches) {
  std::atomic<int> turn = 0;
  const auto take_turns = [&](int mine) {
    for (; mine < switches; mine += 2) {
      for (int seen; (seen = turn) != mine;) turn.wait(seen);
      ++turn;
      turn.notify_one();
    }
  };
  std::jthread other(take_turns, 1);
  take_turns(0);
  other.join();
  return turn;
}

/// The same by a condition variable, which has the thread that waits sleep at once.
int sleeping_switches(int switches) {
  int turn = 0;
  std::mutex mutex;  // for turn
  std::condition_variable changed;
  const auto take_turns = [&](int mine) {
    std::unique_lock lock(mutex);
    for (; mine < switches; mine += 2) {
      changed.wait(lock, [&] { return turn == mine; });
      ++turn;
      changed.notify_one();
    }
  };
  std::jthread other(take_turns, 1);
  take_turns(0);
  other.join();
  return turn;
}

}  // namespace

int main(int argc, char** argv) {
  int switches = 100'000, rounds = 11;
  cookbook::Options options("What it costs to suspend a task and to go on with it");
  options.add("switches", switches, "switches per run; of timers and threads a hundredth", 100, 10'000'000);
  options.add("rounds", rounds, "measured runs of each kind", 1, 1'000);
  options.parse(argc, argv);
  cookbook::pin(0);

  int wrong = 0;
  const auto row = [&](const char* name, int switches_of_row, auto run) {
    return cookbook::Benchmark(name, switches_of_row,
                               [&wrong, switches_of_row, run] { wrong += run(switches_of_row) != switches_of_row; });
  };
  const auto awaiting = [](asio::awaitable<void> (*coroutine)(int, int&)) {
    return [coroutine](int n) {
      int count = 0;
      return on_a_loop(coroutine(n, count), count);
    };
  };
  cookbook::Figures figures("suspend and go on", cookbook::cost("ns", 1e-9));
  figures.measure({row("bare coroutine, resume()", switches, bare_resumes),
                   row("co_await a coroutine", switches, awaiting(await_coroutines)),
                   row("co_await asio::post", switches, awaiting(await_posts)),
                   row("co_await a timer due at once", switches / 100, awaiting(await_timers)),
                   row("another thread, on the same core", switches / 100, thread_switches),
                   row("another thread, which sleeps", switches / 100, sleeping_switches)},
                  rounds);
  figures.percent_of("bare coroutine, resume()", "bare");

  cookbook::Checks checks;
  checks.equal("runs with a wrong number of switches", wrong, 0);
  figures.print(checks);
  return checks.exit_code();
}
