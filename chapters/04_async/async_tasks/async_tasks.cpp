// Async tasks
//
// Three coroutines compute a factorial, a Fibonacci number and a binomial coefficient, and sleep for a second after
// each step. As tasks of an event loop they take turns: while one sleeps, the others go on, all in one thread, and in
// the same order in every run. Awaited one after another, they sleep 29 seconds instead of ten. A second lasts 20 ms
// here. The program prints the steps with their times, and how long both forms took.
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

/// Prints how long a form took, by the clock on the wall and by the sleeps that it had to wait for.
void print_row(const char* form, const cookbook::Stopwatch& watch, double seconds) {
  cookbook::println("{:<20}{:8.1f} ms{:10} s", form, watch.seconds() * 1e3, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  int n = 10, second_ms = 20;
  cookbook::Options options("Three computations that take turns in one thread");
  options.add("n", n, "computes factorial(n), fibonacci(n), and 2n choose n", 0, 20);
  options.add("second-ms", second_ms, "milliseconds that a second takes; 0: a virtual clock, nobody waits", 0, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds second(second_ms);

  asio::io_context loop(1), other_loop(1);  // 1: only one thread runs it
  LoopTime time(loop, second);
  Steps steps{time, [&](const std::string& line) { cookbook::println("{:>3} s  {}", time.now(), line); }};
  const cookbook::Stopwatch as_tasks_watch;
  const Results results = as_tasks(loop, steps, n);
  cookbook::println("                   measured     sleeps, a second is {} ms", second_ms);
  print_row("as tasks", as_tasks_watch, time.now());

  // The same coroutines once more, one after another, without printing their steps.
  const cookbook::Stopwatch in_sequence_watch;
  LoopTime other_time(other_loop, second);
  Steps other_steps{other_time, [](const std::string&) {}};
  std::future<Results> in_turn = asio::co_spawn(other_loop, in_sequence(other_steps, n), asio::use_future);
  other_time.run();
  print_row("one after another", in_sequence_watch, other_time.now());

  cookbook::Checks checks;
  checks.equal("results, the same in both ways", results, in_turn.get());
  checks.equal("seconds of sleep, as tasks and one after another", std::vector{time.now(), other_time.now()},
               {1.0 * n, std::max(n - 1, 0) + 2.0 * n});
  checks.equal("threads that took part", steps.threads.size(), 1U);
  return checks.exit_code();
}
