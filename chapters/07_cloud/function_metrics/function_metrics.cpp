// Metrics of functions
//
// How long do the calls of a function take? Several threads call three functions, and a wrapper around each counts its
// calls, its errors and how long they took. The program prints the mean beside two quantiles, what happens when the
// counts are read one by one while calls go on, and what the counting costs.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/function_metrics/function_metrics.cpp common/cookbook/*.cpp -lfmt -pthread -o function_metrics
// Run:     function_metrics [--threads N] [--calls N] [--file FILE]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "metrics.hpp"

namespace {

using namespace std::chrono_literals;

int multiply(int number) { return 2 * number; }

int divide(int number) {
  if (number % 10 == 0) throw std::invalid_argument("division by zero");
  return 1000 / (number % 10);
}

/// A function that needs something from a disk in one call out of ten.
void load(int number) {
  if (number % 10 == 0) std::this_thread::sleep_for(2ms);
}

/// Reads the counts of a function that always fails while threads call it, once calls and errors one after the other,
/// and once together. In how many of the readings they differ.
std::pair<int, int> different_readings(int readings) {
  FunctionMetrics fails("fails");
  std::atomic<bool> stop = false;
  const auto call_often = [&] {
    while (!stop) {
      try {
        fails.call([] { throw std::runtime_error("as always"); });
      } catch (const std::runtime_error&) {
      }
    }
  };
  const std::jthread one(call_often), two(call_often);
  int apart = 0, together = 0;
  for (int i = 0; i < readings; ++i) {
    const std::uint64_t calls = fails.read().latencies.total();
    std::this_thread::sleep_for(10us);  // the reader may be interrupted here at any time; so it shows in a short run
    apart += calls != fails.read().errors;

    const FunctionMetrics::Reading reading = fails.read();
    together += reading.latencies.total() != reading.errors;
  }
  stop = true;
  return {apart, together};
}

/// Nanoseconds per call, the best of three runs.
template <typename Function>
double ns_per_call(Function function) {
  constexpr int calls = 200'000;
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const cookbook::Stopwatch watch;
    for (int number = 0; number < calls; ++number) cookbook::do_not_optimize(function(number));
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
  options.add("file", file, "also write the figures to this file, in the format that Prometheus reads");
  options.parse(argc, argv);

  FunctionMetrics functions[] = {FunctionMetrics("multiply"), FunctionMetrics("divide"), FunctionMetrics("load")};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < threads; ++i) {
      callers.emplace_back([&] {
        for (int number = 0; number < calls; ++number) {
          functions[0].call([&] { return multiply(number); });
          try {
            functions[1].call([&] { return divide(number); });
          } catch (const std::invalid_argument&) {
            // Counted; here it has no further meaning.
          }
          functions[2].call([&] { load(number); });
        }
      });
    }
  }

  cookbook::println("function   calls  errors          mean  50 % at most  99 % at most");
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

  constexpr int readings = 1000;
  const auto [apart, together] = different_readings(readings);
  cookbook::println("of {} readings, calls and errors differ in {} when read apart, in {} when read together", readings,
                    apart, together);
  FunctionMetrics counter("multiply");
  cookbook::println("a call of multiply takes {:.0f} ns when it is counted, and {:.1f} ns otherwise",
                    ns_per_call([&](int number) { return counter.call([&] { return multiply(number); }); }),
                    ns_per_call(multiply));

  const auto all = static_cast<std::uint64_t>(threads) * calls,
             tenth = static_cast<std::uint64_t>(threads) * ((calls + 9) / 10);
  cookbook::Checks checks;
  checks.equal("calls counted", counted, {all, all, all});
  checks.equal("errors counted", failed, {0, tenth, 0});
  checks.equal("readings that differ, read together", together, 0);
  checks.that("99 % quantile of load above 2 ms", quantile(functions[2].read().latencies, 0.99) > 0.002);
  return checks.exit_code();
}
