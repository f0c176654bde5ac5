// False sharing
//
// Two threads count, each in a counter of its own. They share no variable, and yet they slow each other down if both
// counters lie in one cache line: a line can be written by one core at a time, so it moves to and fro between the
// two. The program moves the second counter away from the first one, and shows how long an addition takes.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/false_sharing/false_sharing.cpp common/cookbook/*.cpp -lfmt -pthread -o false_sharing
// Run:     false_sharing [--counts N]

#include <algorithm>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "counters.hpp"

namespace {

using Count = void (*)(Counter&, long);

/// One thread counts in `counter`. Returns the seconds that it took.
double seconds_alone(Counter& counter, Count count, long counts) {
  cookbook::pin(0);  // this is the main thread, which stays there
  const cookbook::Stopwatch watch;
  count(counter, counts);
  return watch.seconds();
}

/// Two threads, on two processors, count at the same time, each in its counter. Returns the seconds of the slower one.
double seconds_together(Counter& first, Counter& second, Count count, long counts) {
  std::vector<double> seconds(2);
  std::atomic<int> ready = 0;
  const auto run = [&](int processor, Counter& counter) {
    cookbook::pin(processor);
    ++ready;
    while (ready < 2) std::this_thread::yield();  // both begin at the same time
    const cookbook::Stopwatch watch;
    count(counter, counts);
    seconds.at(static_cast<std::size_t>(processor)) = watch.seconds();
  };
  { std::jthread one(run, 0, std::ref(first)), other(run, 1, std::ref(second)); }  // joins
  return std::ranges::max(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  long counts = 100'000;
  cookbook::Options options("Count with two threads, in one cache line and in two");
  options.add("counts", counts, "additions of each thread", 1'000, 100'000'000);
  options.parse(argc, argv);

  Counters counters;
  Counter& first = counters.at(0);
  const std::vector<std::size_t> distances = {8, 16, 32, 56, 64, 128};
  long made = 0;                          // additions, for the check below
  std::vector<cookbook::Benchmark> rows;  // their names and the 1, an amount, are not used here
  rows.emplace_back("one thread", 1, [&] {
    made += counts;
    return seconds_alone(first, add_atomically, counts);
  });
  const auto add_row = [&](std::size_t distance, Count count) {
    rows.emplace_back("two threads", 1, [&, distance, count] {
      made += 2 * counts;
      return seconds_together(first, counters.at(distance), count, counts);
    });
  };
  for (const std::size_t distance : distances) add_row(distance, add_atomically);
  rows.emplace_back("one thread, local sums", 1, [&] {
    made += counts;
    return seconds_alone(first, add_locally, counts);
  });
  add_row(distances.front(), add_locally);
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, 21);  // in 21 rounds

  const auto ns = [&](std::size_t row) { return timings[row].median / static_cast<double>(counts) * 1e9; };
  const auto print = [&](std::string_view what, std::size_t distance, std::size_t row) {
    cookbook::println("{:<23}{:>15} bytes{:>9}{:>13.2f} ns", what, distance,
                      line_of(counters.at(distance)) == line_of(first) ? "one" : "two", ns(row));
  };
  const auto print_alone = [&](std::string_view what, std::size_t row) {
    cookbook::println("{:<53}{:>13.2f} ns", what, ns(row));
  };
  cookbook::println("{:<20}{:>24}{:>9}{:>16}", "", "distance of the counters", "lines", "per addition");
  print_alone("one thread", 0);
  for (std::size_t i = 0; i < distances.size(); ++i) print("two threads", distances[i], i + 1);
  print_alone("one thread, local sums", distances.size() + 1);
  print("two threads, local sums", distances.front(), distances.size() + 2);

  cookbook::Checks checks;
  const long counted = std::accumulate(counters.all.begin(), counters.all.end(), 0L);
  checks.equal("additions that were lost", made - counted, 0);
  return checks.exit_code();
}
