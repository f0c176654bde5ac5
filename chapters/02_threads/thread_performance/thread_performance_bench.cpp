// What threads gain: one table for each of four functions
//
// Each function is called eight times, one call after another, and once in each of 1, 2, 4 and 8 new threads; the
// tables show what one call costs. The empty function is called by threads that wait for work as well, to show what it
// costs to make a new thread for each call.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_performance/thread_performance_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_performance_bench
// Run:     thread_performance_bench [--rounds N] [--fibonacci N] [--delay-us N]

#include <barrier>
#include <numeric>

#include "calls.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "jobs.hpp"

namespace {

constexpr int calls = 8;

/// Threads that are made once, and wait; each call of call_all() makes every one of them call the function once.
template <typename Function>
class Team {
 public:
  Team(int threads, Function function) : function_(std::move(function)), begin_(threads + 1), end_(threads + 1) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        for (begin_.arrive_and_wait(); !over_; begin_.arrive_and_wait()) {
          function_();
          end_.arrive_and_wait();
        }
      });
    }
  }

  ~Team() {
    over_ = true;
    begin_.arrive_and_wait();
  }

  void call_all() {
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
  }

 private:
  Function function_;
  std::barrier<> begin_, end_;
  bool over_ = false;  // the threads read it after the barrier that follows the change
  std::vector<std::jthread> threads_;
};

/// The rows of one table.
template <typename Function>
std::vector<cookbook::Benchmark> rows_of(Function function) {
  std::vector<cookbook::Benchmark> rows;
  rows.emplace_back("one by one", calls, [function] { one_by_one(calls, function); });
  for (const int n : {1, 2, 4, 8}) {
    rows.emplace_back(fmt::format("in {} thread{}", n, n > 1 ? "s" : ""), n,
                      [function, n] { in_threads(n, function); });
  }
  return rows;
}

void print(const cookbook::Checks& checks, const std::string& title, const cookbook::Unit& unit,
           const std::vector<cookbook::Benchmark>& rows, int rounds) {
  cookbook::Figures figures(title, unit);
  figures.measure(rows, rounds);
  figures.speedup_over("one by one");
  figures.print(checks);
}

/// The remainder of a number of 18 digits per element.
std::uint64_t remainder(const std::vector<std::uint64_t>& number, std::uint64_t divisor) {
  const std::uint64_t base = 1'000'000'000'000'000'000 % divisor;
  return std::accumulate(
      number.rbegin(), number.rend(), std::uint64_t{0},
      [&](std::uint64_t so_far, std::uint64_t digits) { return (so_far * base + digits) % divisor; });
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 11, n = 100'000, delay_us = 1000;
  cookbook::Options options("Measure calls one after another beside calls in threads");
  options.add("rounds", rounds, "rounds in which each row is measured once", 1, 1000);
  options.add("fibonacci", n, "the Fibonacci number that is computed", 1000, 1'000'000);
  options.add("delay-us", delay_us, "microseconds until the server answers", 0, 1'000'000);
  options.parse(argc, argv);

  const std::string path = make_block_file();
  PageServer server{std::chrono::microseconds(delay_us)};

  const auto nothing = [] { return 0; };
  const auto compute = [n] { return fibonacci(n); };
  const auto read = [&path] { return read_blocks(path); };
  const auto fetch = [&server] { return fetch_pages(server.port()); };

  // The remainder of F(n), by additions of remainders.
  constexpr std::uint64_t divisor = 1'000'000'007;
  std::uint64_t a = 0, b = 1;
  for (int i = 0; i < n; ++i) a = std::exchange(b, (a + b) % divisor);

  cookbook::Checks checks;
  const auto number = compute();
  checks.equal("remainder of the number that one call computes", remainder(number, divisor), a);
  checks.equal("numbers that are the same in 8 threads", std::ranges::count(in_threads(calls, compute), number), 8);
  checks.equal("threads that read the whole file", std::ranges::count(in_threads(calls, read), 1'024'000), 8);
  checks.equal("threads that got the start of ten pages", std::ranges::count(in_threads(calls, fetch), 10 * 1024), 8);
  if (!checks.passed()) return checks.exit_code();

  Team team(calls, nothing);
  auto empty_rows = rows_of(nothing);
  empty_rows.emplace_back("in 8 waiting threads", calls, [&team] { team.call_all(); });
  print(checks, "an empty function", cookbook::cost("us", 1e-6), empty_rows, rounds);
  print(checks, fmt::format("F({})", n), cookbook::cost("ms", 1e-3), rows_of(compute), rounds);
  print(checks, "1000 blocks of a file", cookbook::cost("ms", 1e-3), rows_of(read), rounds);
  print(checks, "10 web pages", cookbook::cost("ms", 1e-3), rows_of(fetch), rounds);
  return checks.exit_code();
}
