// Async tasks
//
// Three coroutines compute a factorial, a Fibonacci number and a binomial coefficient, and sleep for a second after
// each step. On the left side of the output they are awaited one after another, and their sleeps add up. On the right
// they are tasks of an event loop and take turns: while one sleeps, the others go on, all in one thread.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/async_tasks/async_tasks.cpp common/cookbook/*.cpp -lfmt -pthread -o async_tasks
// Run:     async_tasks [--n N] [--second-ms N]

#include "computations.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <limits>
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

/// A line of output, and the second in which it came.
struct Line {
  double second;
  std::string text;
};

/// What a run of one of the two forms gives.
struct Run {
  std::vector<Line> lines;
  Results results;
  double slept = 0, ms = 0;  // seconds by the clock of the coroutines, milliseconds measured
};

/// Runs one of the two forms on a loop of its own.
template <typename Form>
Run run(std::chrono::milliseconds second, Form form) {
  Run result;
  asio::io_context loop(1);  // 1: only one thread runs it
  LoopTime time(loop, second);
  Steps steps{time, [&](const std::string& text) { result.lines.push_back({time.now(), text}); }};
  const cookbook::Stopwatch watch;
  result.results = form(loop, steps);
  result.ms = watch.seconds() * 1e3;
  result.slept = time.now();
  return result;
}

/// Prints the lines of two runs side by side, those of the same second next to each other.
void print(const Run& sequence, const Run& tasks) {
  std::size_t width = 27;  // of the left column
  for (const Line& line : sequence.lines) width = std::max(width, line.text.size() + 2);
  const auto row = [&](const std::string& head, const std::string& left, const std::string& right) {
    cookbook::println("{:<6}{:<{}}{}", head, left, right.empty() ? 0 : width, right);
  };
  row("", "one after another", "as tasks");
  const double never = std::numeric_limits<double>::infinity();
  const auto second_of = [&](auto line, const Run& run) { return line == run.lines.end() ? never : line->second; };
  auto left = sequence.lines.begin(), right = tasks.lines.begin();
  for (double second, printed = -1;; printed = second) {
    const double in_left = second_of(left, sequence), in_right = second_of(right, tasks);
    second = std::min(in_left, in_right);
    if (second == never) break;
    const std::string left_text = in_left == second ? (left++)->text : "";
    row(second == printed ? "" : fmt::format("{} s", second), left_text, in_right == second ? (right++)->text : "");
  }
  row("took", fmt::format("{:.1f} ms", sequence.ms), fmt::format("{:.1f} ms", tasks.ms));
}

}  // namespace

int main(int argc, char** argv) {
  int n = 2, second_ms = 20;
  cookbook::Options options("Three computations that take turns in one thread");
  options.add("n", n, "computes factorial(n), fibonacci(n), and 2n choose n", 0, 20);
  options.add("second-ms", second_ms, "milliseconds that a second takes; 0: a virtual clock", 0, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds second(second_ms);

  const Run sequence = run(second, [n](asio::io_context& loop, Steps& steps) {
    std::future<Results> results = asio::co_spawn(loop, in_sequence(steps, n), asio::use_future);
    steps.time.run();
    return results.get();
  });
  const Run tasks = run(second, [n](asio::io_context& loop, Steps& steps) { return as_tasks(loop, steps, n); });
  print(sequence, tasks);

  cookbook::Checks checks;
  checks.equal("results, the same in both ways", tasks.results, sequence.results);
  checks.equal("seconds of sleep, one after another and as tasks", std::vector{sequence.slept, tasks.slept},
               {std::max(n - 1, 0) + 2.0 * n, 1.0 * n});
  return checks.exit_code();
}
