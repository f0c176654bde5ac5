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

/// A row of the table: what it shows, how many bytes the second counter lies behind the first (0: one thread counts
/// alone), and how the threads count.
struct Row {
  const char* what;
  std::size_t distance;
  Count count;
};

const std::vector<Row> rows = {
    {"one thread", 0, add_atomically},           {"two threads", 8, add_atomically},
    {"two threads", 56, add_atomically},         {"two threads", 64, add_atomically},
    {"two threads", 128, add_atomically},        {"one thread, local sums", 0, add_locally},
    {"two threads, local sums", 8, add_locally},
};

}  // namespace

int main(int argc, char** argv) {
  long counts = 100'000;
  cookbook::Options options("Count with two threads, in one cache line and in two");
  options.add("counts", counts, "additions of each thread", 1'000, 100'000'000);
  options.parse(argc, argv);

  Counters counters;
  Counter& first = counters.at(0);
  long made = 0;  // additions, for the check below
  std::vector<cookbook::Benchmark> benchmarks;
  for (const Row& row : rows) {
    benchmarks.emplace_back(row.what, 1, [&] {
      made += row.distance == 0 ? counts : 2 * counts;
      if (row.distance == 0) return seconds_alone(first, row.count, counts);
      return seconds_together(first, counters.at(row.distance), row.count, counts);
    });
  }
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(benchmarks, 21);  // in 21 rounds

  cookbook::println("{:<20}{:>24}{:>9}{:>16}", "", "distance of the counters", "lines", "per addition");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [what, distance, count] = rows[i];
    const double ns = timings[i].median / static_cast<double>(counts) * 1e9;
    if (distance == 0) {
      cookbook::println("{:<53}{:>13.2f} ns", what, ns);
    } else {
      cookbook::println("{:<23}{:>15} bytes{:>9}{:>13.2f} ns", what, distance,
                        line_of(counters.at(distance)) == line_of(first) ? "one" : "two", ns);
    }
  }

  cookbook::Checks checks;
  const long counted = std::accumulate(counters.all.begin(), counters.all.end(), 0L);
  checks.equal("additions that were lost", made - counted, 0);
  return checks.exit_code();
}
