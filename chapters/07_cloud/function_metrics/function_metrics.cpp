// Metrics of functions
//
// Several threads call three functions, and a wrapper around each function counts its calls, its errors and how long
// the calls took. The functions know nothing of it. The counts are exact, whatever the threads do, and a histogram of
// the latencies answers questions that a mean cannot: how long do the slowest calls take?
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/function_metrics/function_metrics.cpp common/cookbook/*.cpp -lfmt -pthread -o function_metrics
// Run:     function_metrics [--threads N] [--calls N] [--file FILE]

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  int threads = 4, calls = 1000;
  std::string file;
  cookbook::Options options("Count calls, errors and latencies per function");
  options.add("threads", threads, "threads that call the functions", 1, 64);
  options.add("calls", calls, "calls of each function by each thread", 10, 1'000'000);
  options.add("file", file, "also write the figures to this file, in the format that Prometheus reads");
  options.parse(argc, argv);

  FunctionMetrics functions[] = {{"multiply"}, {"divide"}, {"load"}};
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

  cookbook::println("function   calls  errors  50 % of calls within  99 % within");
  std::vector<std::uint64_t> counted, failed;
  for (const FunctionMetrics& function : functions) {
    const Histogram::Counts counts = function.latencies.counts();
    counted.push_back(total(counts));
    failed.push_back(function.errors);
    cookbook::println("{:8}  {:6}  {:6}  {:17.3f} ms  {:8.3f} ms", function.name, counted.back(), failed.back(),
                      1e3 * quantile(counts, 0.5), 1e3 * quantile(counts, 0.99));
  }
  if (!file.empty() && !(std::ofstream(file) << prometheus_page(functions)).flush()) {
    cookbook::print_error("cannot write " + file);
    return 3;
  }

  const auto all = static_cast<std::uint64_t>(threads) * calls,
             tenth = static_cast<std::uint64_t>(threads) * ((calls + 9) / 10);
  cookbook::Checks checks;
  checks.equal("calls counted", counted, {all, all, all});
  checks.equal("errors counted", failed, {0, tenth, 0});
  checks.that("99 % quantile of load above 2 ms", quantile(functions[2].latencies.counts(), 0.99) > 0.002);
  checks.that("50 % quantile of load below 2 ms", quantile(functions[2].latencies.counts(), 0.5) < 0.002);
  return checks.exit_code();
}
