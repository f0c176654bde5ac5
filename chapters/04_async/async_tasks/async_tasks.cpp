// Async tasks
//
// Three coroutines compute a factorial, a Fibonacci number and a binomial coefficient, and sleep for a second after
// each step. As tasks of an event loop they take turns: while one sleeps, the others go on, all in one thread, and in
// the same order in every run. Then the same coroutines are awaited one after another, and their sleeps add up.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/async_tasks/async_tasks.cpp common/cookbook/*.cpp -lfmt -pthread -o async_tasks
// Run:     async_tasks [--n N] [--second-ms N]

#include "computations.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "loop_time.hpp"

namespace asio = boost::asio;

namespace {

using Results = std::vector<long>;

/// Awaits one coroutine after another: each begins when the one before has ended.
asio::awaitable<Results> in_sequence(Steps& steps, int n) {
  const long first = co_await factorial(steps, n);
  const long second = co_await fibonacci(steps, n);
  const long third = co_await binomial(steps, 2 * n, n);
  co_return Results{first, second, third};
}

/// Makes a task of each coroutine. The loop runs them all, and returns when all have ended.
Results as_tasks(asio::io_context& loop, Steps& steps, int n) {
  std::future<long> first = asio::co_spawn(loop, factorial(steps, n), asio::use_future);
  std::future<long> second = asio::co_spawn(loop, fibonacci(steps, n), asio::use_future);
  std::future<long> third = asio::co_spawn(loop, binomial(steps, 2 * n, n), asio::use_future);
  steps.time.run();
  return {first.get(), second.get(), third.get()};
}

/// Runs one of the two forms on a loop of its own; prints its steps, and how long it took. Returns the seconds of
/// sleep.
template <typename Form>
double shown(const char* name, std::chrono::milliseconds second, Form form, Results& results) {
  asio::io_context loop(1);  // 1: only one thread runs it
  LoopTime time(loop, second);
  Steps steps{time, [&](const std::string& line) { cookbook::println("{:>3} s  {}", time.now(), line); }};
  const cookbook::Stopwatch watch;
  results = form(loop, steps);
  cookbook::println("{}: {} s of sleep, measured {:.1f} ms", name, time.now(), watch.seconds() * 1e3);
  return time.now();
}

}  // namespace

int main(int argc, char** argv) {
  int n = 2, second_ms = 20;
  cookbook::Options options("Three computations that take turns in one thread");
  options.add("n", n, "computes factorial(n), fibonacci(n), and 2n choose n", 0, 20);
  options.add("second-ms", second_ms, "milliseconds that a second takes; 0: a virtual clock", 0, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds second(second_ms);

  Results results, results_in_sequence;
  const auto tasks = [n](asio::io_context& loop, Steps& steps) { return as_tasks(loop, steps, n); };
  const auto sequence = [n](asio::io_context& loop, Steps& steps) {
    std::future<Results> in_turn = asio::co_spawn(loop, in_sequence(steps, n), asio::use_future);
    steps.time.run();
    return in_turn.get();
  };
  const double slept = shown("as tasks", second, tasks, results);
  const double slept_in_sequence = shown("one after another", second, sequence, results_in_sequence);

  cookbook::Checks checks;
  checks.equal("results, the same in both ways", results, results_in_sequence);
  checks.equal("seconds of sleep, as tasks and one after another", std::vector{slept, slept_in_sequence},
               {1.0 * n, std::max(n - 1, 0) + 2.0 * n});
  return checks.exit_code();
}
