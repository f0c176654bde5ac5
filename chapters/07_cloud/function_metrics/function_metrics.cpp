// Metrics of functions
//
// How long do the calls of a function take? Several threads call two functions, and a wrapper around each counts its
// calls, its errors and how long they took. The program prints the mean beside two quantiles, how many calls of the
// slower function took about as long as its mean says, and what the counting costs.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/function_metrics/function_metrics.cpp common/cookbook/*.cpp -lfmt -pthread -o function_metrics
// Run:     function_metrics [--threads N] [--calls N] [--file FILE]

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "metrics.hpp"

namespace {

using namespace std::chrono_literals;

int divide(int number) {
  if (number % 10 == 0) throw std::invalid_argument("division by zero");
  return 1000 / (number % 10);
}

/// A function that needs something from a disk in one call out of ten.
void load(int number) {
  if (number % 10 == 0) std::this_thread::sleep_for(2ms);
}

/// How many of the calls took at most 2^i microseconds.
std::uint64_t calls_up_to(const Histogram& latencies, std::size_t i) {
  return std::accumulate(latencies.counts.begin(), latencies.counts.begin() + std::ptrdiff_t(i) + 1, std::uint64_t{0});
}

/// Hardly any work, to see what the counting costs.
int multiply(int number) { return 2 * number; }

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

  const Histogram load_took = functions[1].read().latencies;
  const std::uint64_t quick = calls_up_to(load_took, 6), not_slow = calls_up_to(load_took, 10);
  cookbook::println("calls of load: {} took at most 64 us, {} took 64 to 1024 us, {} took longer", quick,
                    not_slow - quick, load_took.total() - not_slow);
  FunctionMetrics counter("multiply");
  const double counted_ns = ns_per_call([&](int n) { return counter.call([&] { return multiply(n); }); });
  cookbook::println("a call that takes {:.1f} ns takes {:.0f} ns when it is counted", ns_per_call(multiply),
                    counted_ns);

  const auto all = static_cast<std::uint64_t>(threads) * calls,
             tenth = static_cast<std::uint64_t>(threads) * ((calls + 9) / 10);
  cookbook::Checks checks;
  checks.equal("calls counted", counted, {all, all});
  checks.equal("errors counted", failed, {tenth, 0});
  checks.that("99 % quantile of load above 2 ms", quantile(load_took, 0.99) > 0.002);
  return checks.exit_code();
}
