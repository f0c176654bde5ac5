// Metrics of functions
//
// How long do the calls of a function take? Several threads call two functions, and a wrapper around each counts its
// calls, its errors and how long they took. The program prints the mean beside two quantiles, how many calls of the
// slower function took how long, and what the counting costs, with one thread and with two.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/function_metrics/function_metrics.cpp common/cookbook/*.cpp -lfmt -pthread -o function_metrics
// Run:     function_metrics [--threads N] [--calls N] [--file FILE]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "metrics.hpp"
#include "prometheus.hpp"

namespace {

using namespace std::chrono_literals;

int divide(int number) {
  if (number % 10 == 0) throw std::invalid_argument("division by zero");
  return 1000 / (number % 10);
}

/// A function that needs something from a disk in one call out of ten.
void load(int number) {
  if (number % 10 == 0) std::this_thread::sleep_for(2500us);
}

/// How many calls took how long; buckets in which there is little to see share a line.
void print_histogram(const Histogram& latencies) {
  std::size_t first = 0;
  double from = 0;
  for (const std::size_t last : {0U, 6U, 10U, 11U, 12U, 21U}) {
    const double to = 1e6 * Histogram::limit(last);
    const std::string range = std::isinf(to) ? "longer" : fmt::format("{:4} to {:4} us", from, to);
    cookbook::println("  {:18}{:6}", range, latencies.total(first, last));
    first = last + 1;
    from = to;
  }
}

/// The nanoseconds that `call()` takes while so many threads call it; the best of three runs.
template <typename Call>
double ns_per_call(int threads, Call call) {
  constexpr int calls = 100'000;
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const cookbook::Stopwatch watch;
    {
      std::vector<std::jthread> callers;
      for (int i = 0; i < threads; ++i) {
        callers.emplace_back([&, i] {
          cookbook::pin(i);  // else both may run on one processor, one after the other
          for (int n = 0; n < calls; ++n) call();
        });
      }
    }
    best = std::min(best, watch.seconds() / calls * 1e9);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4, calls = 1000;
  std::string file;
  cookbook::Options options("Count calls, errors and latencies per function");
  options.add("threads", threads, "threads that call the functions", 1, 64);
  options.add("calls", calls, "calls of each function by each thread", 10, 1'000'000);
  options.add("file", file, "also write the counts to this file, in the format that Prometheus reads");
  options.parse(argc, argv);

  FunctionMetrics functions[] = {FunctionMetrics("divide"), FunctionMetrics("load")};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&] {
        for (int number = 0; number < calls; ++number) {
          try {
            functions[0].call([&] { return divide(number); });
          } catch (const std::invalid_argument&) {
            // Counted; here it has no further meaning.
          }
          functions[1].call([&] { load(number); });
        }
      });
    }
  }

  cookbook::println("function   calls  errors          mean   50 % within   99 % within");
  std::vector<std::uint64_t> counted, failed;
  for (const FunctionMetrics& function : functions) {
    const FunctionMetrics::Reading reading = function.read();
    counted.push_back(reading.latencies.total());
    failed.push_back(reading.errors);
    const double mean = 1e-9 * double(reading.latencies.sum.count()) / double(reading.latencies.total());
    cookbook::println("{:8}  {:6}  {:6}  {:9.1f} us  {:9.0f} us  {:9.0f} us", function.name, counted.back(),
                      failed.back(), 1e6 * mean, 1e6 * quantile(reading.latencies, 0.5),
                      1e6 * quantile(reading.latencies, 0.99));
  }
  if (!file.empty() && !(std::ofstream(file) << prometheus_page(functions)).flush()) {
    cookbook::print_error("cannot write " + file);
    return 3;
  }

  const Histogram load_took = functions[1].read().latencies;
  cookbook::println("calls of load that took");
  print_histogram(load_took);
  FunctionMetrics nothing("nothing");
  const auto count = [&] { nothing.call([] {}); };
  const auto read_clock = [] { cookbook::do_not_optimize(std::chrono::steady_clock::now()); };
  cookbook::println("counting a call takes {:.0f} ns, {:.0f} ns of them to read the clock twice", ns_per_call(1, count),
                    2 * ns_per_call(1, read_clock));
  cookbook::println("while a second thread counts, too, it takes {:.0f} ns", ns_per_call(2, count));

  const auto all = static_cast<std::uint64_t>(threads) * calls,
             tenth = static_cast<std::uint64_t>(threads) * ((calls + 9) / 10);
  cookbook::Checks checks;
  checks.equal("calls counted", counted, {all, all});
  checks.equal("errors counted", failed, {tenth, 0});
  checks.that("99 % quantile of load above 2.5 ms", quantile(load_took, 0.99) > 0.0025);
  return checks.exit_code();
}
