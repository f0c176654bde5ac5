// Speedup and its laws
//
// What do more processors gain if a part of the work has to be done by one alone? Amdahl's law says it for work that
// stays the same, Gustafson's law for work that grows with the processors (laws.hpp). The table has both for 1 to 16
// processors, and the time or the work that they follow from: the serial part + the parallel part, of which 100 is what
// one processor does. A job with such a serial part (job.hpp) is measured beside them, for up to --threads threads.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/speedup_laws/speedup_laws.cpp common/cookbook/*.cpp -lfmt -pthread -o speedup_laws
// Run:     speedup_laws [--threads N] [--serial PERCENT] [--units N]

#include <algorithm>
#include <set>
#include <string>
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
/// (Not inlined, since the compiler could otherwise do several units at once in one loop and not in another.)
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

/// The measured gain: with the same work for any number of threads, and with work that grows with the threads.
struct Gain {
  double same_work = 0, more_work = 0;
};

/// Prints the row of the table for `processors`; without measured figures if `measured` is null.
void print_row(int percent, int processors, const Gain* measured) {
  const int parallel = 100 - percent;
  const std::string time = fmt::format("{} + {:4.1f}", percent, static_cast<double>(parallel) / processors);
  const std::string work = fmt::format("{} + {:4}", percent, parallel * processors);
  const double same = amdahl(percent / 100.0, processors), more = gustafson(percent / 100.0, processors);
  if (measured == nullptr) {
    cookbook::println("{:10}{:>12}{:8.2f}{:>10}{:>15}{:11.2f}{:>10}", processors, time, same, "-", work, more, "-");
    return;
  }
  cookbook::println("{:10}{:>12}{:8.2f}{:8.2f} x{:>15}{:11.2f}{:8.2f} x", processors, time, same, measured->same_work,
                    work, more, measured->more_work);
}

}  // namespace

int main(int argc, char** argv) {
  int max_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())), percent = 25;
  long units = 5'000;
  cookbook::Options options("Compute and measure what more processors gain");
  options.add("threads", max_threads, "largest number of threads to measure", 1, 256);
  options.add("serial", percent, "share of the units that one thread has to do, in percent", 1, 100);
  options.add("units", units, "units of work of the job on one processor", 1, 100'000);
  options.parse(argc, argv);

  const double serial_part = percent / 100.0;
  std::set<int> counts = {1, 2, 4, 8, 16, max_threads};
  for (int count = 16; count < max_threads; count *= 2) counts.insert(count);

  int wrong = 0;
  // Rows: the loop, then the same work and more work for each number of threads. (The names and the 1, an amount of
  // work, are not used here.)
  std::vector<cookbook::Benchmark> rows = {{"the loop", 1, [&] { cookbook::do_not_optimize(loop(units)); }}};
  for (const int count : counts) {
    if (count > max_threads) break;
    for (const Job job : {same_work(units, serial_part), more_work(units, serial_part, count)}) {
      const Sum right = loop(job.units);
      rows.emplace_back("the job", 1, [=, &wrong] { wrong += run(job, count, unit) != right; });
    }
  }
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, 9);  // 9 rounds

  cookbook::println("{:3} % serial   the same work in less time     more work in the same time", percent);
  cookbook::println("processors        time  Amdahl  measured           work  Gustafson  measured");
  // timings[0] is the loop's. Then come two for each number of threads: the same work and more work. Of each the
  // shortest time counts, since other programs of the machine only ever add to one.
  const double alone = timings[0].minimum;
  std::size_t row = 1;
  for (const int count : counts) {
    if (count > max_threads) {
      print_row(percent, count, nullptr);
      continue;
    }
    const double growth = static_cast<double>(more_work(units, serial_part, count).units) / static_cast<double>(units);
    const Gain measured = {speedup(alone, timings[row].minimum), speedup(alone * growth, timings[row + 1].minimum)};
    print_row(percent, count, &measured);
    row += 2;
  }
  cookbook::println("any number{:>5} +  0.0{:8.2f}{:>10}{:>15}{:>11}{:>10}", percent, amdahl_limit(serial_part), "-",
                    "no limit", "no limit", "-");

  cookbook::Checks checks;
  checks.equal("runs whose sum differs from the plain loop's", wrong, 0);
  return checks.exit_code();
}
