// Speedup and its laws
//
// How much sooner is a job done by several processors, if a part of it has to be done by one alone? Amdahl's law says
// it for work that stays the same, Gustafson's law for work that grows with the processors (laws.hpp). Then a job with
// such a serial part (job.hpp) is done by 1, 2, 4, ... threads, and what they gain stands beside the laws.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/speedup_laws/speedup_laws.cpp common/cookbook/*.cpp -lfmt -pthread -o speedup_laws
// Run:     speedup_laws [--threads N] [--serial PERCENT]

#include <algorithm>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "job.hpp"
#include "laws.hpp"

namespace {

/// One unit of work: about two microseconds of arithmetic. Each step needs the one before, and none touches memory.
/// (Not inlined, since the compiler would otherwise do several units at once in one loop and not in another.)
[[gnu::noinline]] Sum unit(long i) {
  constexpr Sum factor = 0xbf58476d1ce4e5b9;  // any large odd number would do
  Sum number = static_cast<Sum>(i);
  for (int step = 0; step < 1'000; ++step) number = (number ^ (number >> 29)) * factor + 1;
  return number;
}

/// The sum by a plain loop: the serial program that the others are compared with.
Sum loop(long units) {
  Sum sum = 0;
  for (long i = 0; i < units; ++i) sum += unit(i);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int max_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())), percent = 25;
  cookbook::Options options("Compute and measure what more processors gain");
  options.add("threads", max_threads, "largest number of threads to measure", 1, 256);
  options.add("serial", percent, "share of the units that one thread has to do, in percent", 1, 100);
  options.parse(argc, argv);

  cookbook::Checks checks;
  cookbook::println("10 % serial, by the laws");
  cookbook::println("processors  Amdahl  Gustafson");
  for (const int p : {1, 2, 8, 100}) cookbook::println("{:10}  {:6.2f}  {:9.2f}", p, amdahl(0.1, p), gustafson(0.1, p));
  checks.equal("10 % serial, Amdahl's limit for any number of processors", amdahl_limit(0.1), 10.0);
  checks.equal("efficiency of a job of 8 s that takes 2 s on 5 processors", efficiency(speedup(8, 2), 5), 0.8);

  const double serial_part = percent / 100.0;
  const long units = 5'000;
  std::vector<int> counts;
  for (int count = 1; count < max_threads; count *= 2) counts.push_back(count);
  counts.push_back(max_threads);

  int wrong = 0;
  // Rows: the loop, then the same work and more work for each number of threads. (The 1 is an amount, not used here.)
  std::vector<cookbook::Benchmark> rows = {{"the loop", 1, [&] { cookbook::do_not_optimize(loop(units)); }}};
  for (const int count : counts) {
    for (const Job job : {same_work(units, serial_part), more_work(units, serial_part, count)}) {
      const Sum right = loop(job.units);
      rows.emplace_back("the job", 1, [=, &wrong] { wrong += run(job, count, unit) != right; });
    }
  }
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, 9);  // 9 rounds
  checks.equal("runs whose sum differs from the plain loop's", wrong, 0);

  cookbook::println("\n{} % serial, measured", percent);
  cookbook::println("threads  same work  Amdahl  efficiency  more work  Gustafson");
  // timings[0] is the loop's. Then come two for each number of threads: the same work and more work. Of each the
  // shortest time counts, since other programs of the machine only ever add to one.
  const double alone = timings[0].minimum;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double same = timings[1 + 2 * i].minimum;
    const double more = timings[2 + 2 * i].minimum;
    const double growth = static_cast<double>(more_work(units, serial_part, counts[i]).units) / units;
    cookbook::println("{:7}  {:7.2f} x  {:6.2f}  {:8.0f} %  {:7.2f} x  {:9.2f}", counts[i], speedup(alone, same),
                      amdahl(serial_part, counts[i]), 100 * efficiency(speedup(alone, same), counts[i]),
                      speedup(alone * growth, more), gustafson(serial_part, counts[i]));
  }
  return checks.exit_code();
}
