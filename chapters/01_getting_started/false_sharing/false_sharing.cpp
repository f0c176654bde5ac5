// False sharing
//
// Two threads count, each in a counter of its own. Nothing is shared, and yet they slow each other down if both
// counters lie in one cache line: a line can be written by one core at a time, so it moves between the two with each
// addition. With the counters in two lines each core keeps its line. A thread that counts in a local variable and
// stores the sum at the end has no such problem, wherever the counters lie.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/false_sharing/false_sharing.cpp common/cookbook/*.cpp -lfmt -pthread -o false_sharing
// Run:     false_sharing [--counts N]

#include <thread>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "counters.hpp"

namespace {

/// Two threads, on two processors, do `count` for one counter each. Returns the seconds that the slower one took.
template <typename Counters>
double seconds_of(Counters& counters, void (*count)(Counter&, long), long counts) {
  double first = 0, second = 0;
  std::atomic<int> ready = 0;
  const auto run = [&](int processor, Counter& counter, double& seconds) {
    cookbook::pin(processor);
    ++ready;
    while (ready < 2) std::this_thread::yield();  // both begin at the same time
    const cookbook::Stopwatch watch;
    count(counter, counts);
    seconds = watch.seconds();
  };
  {
    std::jthread one(run, 0, std::ref(counters.first), std::ref(first));
    std::jthread other(run, 1, std::ref(counters.second), std::ref(second));
  }
  return std::max(first, second);
}

}  // namespace

int main(int argc, char** argv) {
  long counts = 100'000;
  cookbook::Options options("Count with two threads, in one cache line and in two");
  options.add("counts", counts, "additions of each thread", 1'000, 100'000'000);
  options.parse(argc, argv);

  OneLine together;
  TwoLines apart;
  int runs = 0;
  // Each row: its name, its amount (the number of additions), and a run that returns the seconds that they took.
  const auto row = [&](const char* name, auto& counters, void (*count)(Counter&, long)) {
    return cookbook::Benchmark(name, static_cast<double>(counts), [&, count] {
      ++runs;
      return seconds_of(counters, count, counts);
    });
  };
  cookbook::Figures figures("one addition", cookbook::cost("ns", 1e-9));
  figures.speedup_over("atomic add, two lines", "atomic, two lines");
  figures.measure(
      {row("atomic add, one line", together, add_atomically), row("atomic add, two lines", apart, add_atomically),
       row("load and store, one line", together, load_and_store),
       row("load and store, two lines", apart, load_and_store), row("local sum, one line", together, add_locally)},
      21);

  cookbook::Checks checks;
  const long total = together.first + together.second + apart.first + apart.second;
  checks.equal("additions that were lost", 2 * runs * counts - total, 0);
  figures.print(checks);
  return checks.exit_code();
}
