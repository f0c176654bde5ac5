// False sharing
//
// Two threads count, each in a counter of its own. They share no variable, and yet they slow each other down if both
// counters lie in one cache line: a line can be written by one core at a time, so it moves to and fro between the
// two. The program counts in three ways (counters.hpp): with one thread alone, with two threads whose counters lie
// in one line, and with two threads whose counters lie in two lines.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/false_sharing/false_sharing.cpp common/cookbook/*.cpp -lfmt -pthread -o false_sharing
// Run:     false_sharing [--counts N]

#include <algorithm>
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
  cookbook::pin(0);
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

/// How many bytes lie between the beginnings of the two counters.
template <typename Counters>
long distance(const Counters& counters) {
  return reinterpret_cast<const char*>(&counters.second) - reinterpret_cast<const char*>(&counters.first);
}

}  // namespace

int main(int argc, char** argv) {
  long counts = 100'000;
  cookbook::Options options("Count with two threads, in one cache line and in two");
  options.add("counts", counts, "additions of each thread", 1'000, 100'000'000);
  options.parse(argc, argv);

  OneLine together;
  TwoLines apart;
  long made = 0;
  std::vector<cookbook::Benchmark> rows;  // three for each way to count; the 1 is an amount, not used here
  for (const Count count : {add_atomically, load_and_store, add_locally}) {
    rows.emplace_back("one thread", 1, [&, count] {
      made += counts;
      return seconds_alone(together.first, count, counts);
    });
    rows.emplace_back("two threads, one line", 1, [&, count] {
      made += 2 * counts;
      return seconds_together(together.first, together.second, count, counts);
    });
    rows.emplace_back("two threads, two lines", 1, [&, count] {
      made += 2 * counts;
      return seconds_together(apart.first, apart.second, count, counts);
    });
  }
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, 21);  // in 21 rounds

  cookbook::println("one addition     one thread   two threads, counters   two threads, counters");
  cookbook::println("{:>43} bytes apart{:>12} bytes apart", distance(together), distance(apart));
  const auto print = [&](std::string_view way, std::size_t row) {
    const auto ns = [&](std::size_t i) { return timings[i].median / static_cast<double>(counts) * 1e9; };
    cookbook::println("{:<16}{:8.2f} ns{:21.2f} ns{:21.2f} ns", way, ns(row), ns(row + 1), ns(row + 2));
  };
  print("atomic add", 0);
  print("load and store", 3);
  print("local sum", 6);

  cookbook::Checks checks;
  const long counted = together.first + together.second + apart.first + apart.second;
  checks.equal("additions that were lost", made - counted, 0);
  return checks.exit_code();
}
