// Async tasks
//
// Three coroutines compute a factorial, a Fibonacci number and a binomial coefficient, and sleep a second after each
// step. Awaited one after another they take 29 seconds. As tasks, each begun before the first has ended, they take ten,
// in the same thread: while one sleeps the others go on. Who goes on is no accident, so the 32 lines have one order.
// At the end: what it costs to stop a coroutine and to go on.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/async_tasks/async_tasks.cpp common/cookbook/*.cpp -lfmt -pthread -o async_tasks
// Run:     async_tasks [--factorial N] [--fibonacci N] [--binomial-n N] [--binomial-k N] [--second-ms N]

#include <array>
#include <boost/asio.hpp>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "costs.hpp"
#include "loop_time.hpp"

namespace asio = boost::asio;

namespace {

/// What the computations share. Without a lock, since all are in one thread.
struct Trace {
  LoopTime& time;
  bool aloud;
  std::vector<std::string> lines = {};
  std::set<std::thread::id> threads = {};
  int sleeps = 0;

  void say(std::string line) {
    if (aloud) cookbook::println("{}", line);
    lines.push_back(std::move(line));
    threads.insert(std::this_thread::get_id());
  }

  asio::awaitable<void> second() {
    ++sleeps;
    return time.sleep(1);
  }
};

asio::awaitable<long> factorial(Trace& trace, int n) {
  long product = 1;
  for (int i = 2; i <= n; ++i) {
    trace.say(fmt::format("Asio task: Compute factorial({})", i));
    co_await trace.second();
    product *= i;
  }
  trace.say(fmt::format("Asio task - factorial({}) = {}", n, product));
  co_return product;
}

asio::awaitable<long> fibonacci(Trace& trace, int n) {
  long a = 0, b = 1;
  for (int i = 0; i < n; ++i) {
    trace.say(fmt::format("Asio task: Compute fibonacci ({})", i));
    co_await trace.second();
    a = std::exchange(b, a + b);
  }
  trace.say(fmt::format("Asio task - fibonacci({}) = {}", n, a));
  co_return a;
}

asio::awaitable<long> binomial(Trace& trace, int n, int k) {
  long result = 1;
  for (int i = 1; i <= k; ++i) {
    result = result * (n - i + 1) / i;  // leaves no remainder: each is a binomial coefficient itself
    trace.say(fmt::format("Asio task: Compute binomialCoeff ({})", i));
    co_await trace.second();
  }
  trace.say(fmt::format("Asio task - binomialCoeff({} , {}) = {}", n, k, result));
  co_return result;
}

struct Sizes {
  int factorial = 10, fibonacci = 10, n = 20, k = 10;
};

/// Awaits one after another: each begins when the one before has ended.
asio::awaitable<void> in_sequence(Trace& trace, Sizes sizes, std::vector<long>& results) {
  results.push_back(co_await factorial(trace, sizes.factorial));
  results.push_back(co_await fibonacci(trace, sizes.fibonacci));
  results.push_back(co_await binomial(trace, sizes.n, sizes.k));
}

/// Makes each a task of the loop. It begins when the loop runs, and from then on nobody needs to drive it.
std::vector<long> as_tasks(asio::io_context& loop, Trace& trace, Sizes sizes) {
  std::array tasks = {asio::co_spawn(loop, factorial(trace, sizes.factorial), asio::use_future),
                      asio::co_spawn(loop, fibonacci(trace, sizes.fibonacci), asio::use_future),
                      asio::co_spawn(loop, binomial(trace, sizes.n, sizes.k), asio::use_future)};
  trace.time.run();  // returns when all have ended
  std::vector<long> results;
  for (std::future<long>& task : tasks) results.push_back(task.get());
  return results;
}

/// The computations as plain loops, in another order of multiplying, the binomial coefficient by additions alone.
std::vector<long> without_coroutines(Sizes sizes) {
  long product = 1, a = 0, b = 1;
  for (int i = sizes.factorial; i > 1; --i) product *= i;
  for (int i = 0; i < sizes.fibonacci; ++i) a = std::exchange(b, a + b);
  std::vector<long> row(static_cast<std::size_t>(sizes.k) + 1);  // of Pascal's triangle
  row[0] = 1;
  for (int i = 0; i < sizes.n; ++i)
    for (std::size_t j = row.size() - 1; j > 0; --j) row[j] += row[j - 1];
  return {product, a, row.back()};
}

/// The lines of a sequence dealt out in turn: one of each task in a round, as long as it has any. A task ends with the
/// line of its result.
std::vector<std::string> dealt_out(const std::vector<std::string>& sequence) {
  std::vector<std::vector<std::string>> tasks(1);
  for (const std::string& line : sequence) {
    tasks.back().push_back(line);
    if (line.starts_with("Asio task - ")) tasks.emplace_back();
  }
  std::vector<std::string> lines;
  for (std::size_t round = 0; lines.size() < sequence.size(); ++round)
    for (const auto& task : tasks)
      if (round < task.size()) lines.push_back(task[round]);
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  int second_ms = 20;
  cookbook::Options options("Three computations that take turns in one thread");
  options.add("factorial", sizes.factorial, "number whose factorial is computed", 0, 20);
  options.add("fibonacci", sizes.fibonacci, "index of the Fibonacci number", 0, 90);
  options.add("binomial-n", sizes.n, "things to choose from", 0, 60);
  options.add("binomial-k", sizes.k, "things to choose", 0, 60);
  options.add("second-ms", second_ms, "milliseconds that stand for a second; 0: a virtual clock", 0, 10'000);
  options.parse(argc, argv);

  asio::io_context loop(1);
  LoopTime time(loop, std::chrono::milliseconds(second_ms));
  Trace trace{time, true};
  const std::vector<long> results = as_tasks(loop, trace, sizes);

  // Both forms again, on clocks that need no waiting: how long do they take?
  asio::io_context loop_of_tasks(1), loop_of_sequence(1);
  LoopTime time_of_tasks(loop_of_tasks, {}), time_of_sequence(loop_of_sequence, {});
  Trace tasks{time_of_tasks, false}, sequence{time_of_sequence, false};
  std::vector<long> again = as_tasks(loop_of_tasks, tasks, sizes), one_by_one;
  asio::co_spawn(loop_of_sequence, in_sequence(sequence, sizes, one_by_one), asio::detached);
  time_of_sequence.run();

  const int sleeps = std::max(sizes.factorial - 1, 0) + sizes.fibonacci + sizes.k;
  cookbook::Checks checks;
  checks.equal("results", results, without_coroutines(sizes));
  checks.equal("results on the virtual clock", again, results);
  checks.equal("results one after another", one_by_one, results);
  checks.equal("lines", trace.lines.size(), static_cast<std::size_t>(sleeps + 3));
  checks.that("they are in turn", trace.lines == dealt_out(sequence.lines));
  checks.that("in turn on the virtual clock too", tasks.lines == trace.lines);
  checks.equal("sleeps", trace.sleeps, sleeps);
  checks.equal("threads", trace.threads.size(), 1U);
  checks.equal("seconds one after another", time_of_sequence.now(), sleeps);
  checks.equal("seconds as tasks", time_of_tasks.now(), std::max({sizes.factorial - 1, sizes.fibonacci, sizes.k}));
  print_costs(checks);
  return checks.exit_code();
}
