// Speedup and its laws
//
// What does a second processor gain, and what a hundredth? Speedup, efficiency and the laws of Amdahl and Gustafson are
// five lines of arithmetic (laws.hpp). A job whose serial part can be set then shows how true they are: once with
// the same work for 1, 2, ... threads, once with work that grows with the threads. The measured points fall on the
// curves as long as each thread has a core to itself. scripts/plot draws both from what --json prints.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/speedup_laws/speedup_laws.cpp common/cookbook/*.cpp -lfmt -pthread -o speedup_laws
// Run:     speedup_laws [--threads N] [--units N] [--rounds N]

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "laws.hpp"

namespace {

using Sum = std::uint64_t;  // wraps around, so it is the same in any order

/// One unit of work: a chain of steps, each of which needs the one before. It touches no memory. Not inlined, or else
/// the compiler would do eight units at a time by vector instructions in one form and not in the other.
[[gnu::noinline]] Sum unit(Sum number) {
  for (int step = 0; step < 1'000; ++step) number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9 + 1;
  return number;
}

/// Units 0 to serial - 1 must be done by one thread, and before the others.
struct Job {
  long serial, units;
};

Job job_of(long units, double serial_part, int threads) {
  const long serial = std::lround(serial_part * static_cast<double>(units));
  return {serial, serial + (units - serial) * threads};
}

/// The best that one processor can do: a loop.
Sum one_flow(const Job& job) {
  Sum sum = 0;
  for (long i = 0; i < job.units; ++i) sum += unit(static_cast<Sum>(i));
  return sum;
}

/// The parallel form: the serial part, then threads that take eight units at a time, whoever is free.
Sum many_flows(const Job& job, int threads) {
  Sum serial_sum = 0;
  for (long i = 0; i < job.serial; ++i) serial_sum += unit(static_cast<Sum>(i));

  std::atomic<Sum> sum = serial_sum;
  std::atomic<long> next = job.serial;
  const auto work = [&] {
    Sum own = 0;
    for (long first = next.fetch_add(8); first < job.units; first = next.fetch_add(8)) {
      for (long i = first; i < std::min(first + 8, job.units); ++i) own += unit(static_cast<Sum>(i));
    }
    sum += own;
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work);
  work();
  others.clear();  // joins
  return sum;
}

constexpr std::array serial_parts = {0.0, 0.1, 0.25, 0.5};

/// 1, 2, 4, ... and `max_threads`.
std::vector<int> thread_counts(int max_threads) {
  std::vector<int> counts;
  for (int count = 1; count < max_threads; count *= 2) counts.push_back(count);
  counts.push_back(max_threads);
  return counts;
}

/// The formulas, held against numbers that can be checked by hand.
void check_laws(cookbook::Checks& checks) {
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  checks.equal("8 s alone, 2 s together: speedup", speedup(8, 2), 4.0);
  checks.equal("its kind on 4, 5 and 3 processors", std::vector{kind_of(4, 4), kind_of(4, 5), kind_of(4, 3)},
               {"linear", "real", "superlinear"});
  checks.equal("its efficiency on 4, 5 and 3",
               std::vector{efficiency(4, 4), efficiency(4, 5), rounded(efficiency(4, 3))}, {1.0, 0.8, 1.3333});

  cookbook::println("one tenth is serial:  processors    Amdahl  Gustafson");
  std::vector<double> by_amdahl, by_gustafson;
  for (const double processors : {1.0, 2.0, 4.0, 8.0, 10.0, 100.0}) {
    by_amdahl.push_back(rounded(amdahl(0.1, processors)));
    by_gustafson.push_back(rounded(gustafson(0.1, processors)));
    cookbook::println("{:32}  {:8.4f}  {:9.4f}", processors, by_amdahl.back(), by_gustafson.back());
  }
  checks.equal("Amdahl", by_amdahl, {1, 1.8182, 3.0769, 4.7059, 5.2632, 9.1743});
  checks.equal("Amdahl, processors without end", amdahl_limit(0.1), 10.0);
  checks.equal("Gustafson", by_gustafson, {1, 1.9, 3.7, 7.3, 9.1, 90.1});
  checks.equal("Gustafson, 64 processors, nothing and all serial", std::vector{gustafson(0, 64), gustafson(1, 64)},
               {64, 1});
  checks.equal("serial part that explains a speedup of 4.7059 on 8", rounded(serial_part_of(4.7059, 8)), 0.1);
}

/// One thing to measure.
struct Run {
  double serial_part;
  int threads;  ///< 0 for the loop of one_flow()
  Job job;
  cookbook::Timing timing = {};

  /// Other programs only ever add to a time, so the shortest is the one that says most about this one.
  double best() const { return timing.minimum; }
};

/// Measures all runs in turns; how many had another sum than one flow.
long measure(std::vector<Run*> runs, const std::vector<Sum>& sum_of_first, int rounds) {
  long wrong = 0;
  std::vector<cookbook::Row> rows;
  for (const Run* run : runs) {
    rows.emplace_back("", 1, [run, &sum_of_first, &wrong] {
      const Sum sum = run->threads == 0 ? one_flow(run->job) : many_flows(run->job, run->threads);
      wrong += sum != sum_of_first[static_cast<std::size_t>(run->job.units)];
    });
  }
  const std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(rows, rounds);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i]->timing = timings[i];
  return wrong;
}

/// One law and what was measured, as a record for each point.
void print_points(const cookbook::Checks& checks, const std::string& title, const std::string& name,
                  double (*law)(double, double), const std::vector<Run>& runs, double unit_seconds) {
  cookbook::Figures figures(title, cookbook::rate("x", 1));
  const auto series = [](double serial_part, const std::string& kind, int threads) {
    return fmt::format("{:.0f} % serial, {}, {} threads", 100 * serial_part, kind, threads);
  };
  for (const Run& run : runs) {
    figures.add(series(run.serial_part, "measured", run.threads), run.timing,
                unit_seconds * static_cast<double>(run.job.units));
  }
  for (const double serial_part : serial_parts) {
    for (int threads = 1; threads <= std::max(16, runs.back().threads); threads *= 2) {
      figures.add(series(serial_part, name, threads), cookbook::timing_of({1.0}), law(serial_part, threads));
    }
  }
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())), rounds = 5;
  long units = 10'000;
  cookbook::Options options("Compute and measure what more processors gain");
  options.add("threads", threads, "largest number of threads to measure", 1, 256);
  options.add("units", units, "units of work for one thread; each takes a microsecond or two", 100, 10'000'000);
  options.add("rounds", rounds, "times that everything is measured", 1, 1'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  check_laws(checks);

  Run alone = {0, 0, job_of(units, 0, 1)};
  std::vector<Run> fixed, grown;
  for (const double serial_part : serial_parts) {
    for (const int count : thread_counts(threads)) {
      fixed.push_back({serial_part, count, job_of(units, serial_part, 1)});
      grown.push_back({serial_part, count, job_of(units, serial_part, count)});
    }
  }
  std::vector<Run*> all = {&alone};
  for (std::vector<Run>* runs : {&fixed, &grown}) {
    for (Run& run : *runs) all.push_back(&run);
  }
  std::vector<Sum> sum_of_first = {0};  // the result of one flow for any number of units
  for (Sum i = 0; i < static_cast<Sum>(units * threads); ++i) sum_of_first.push_back(sum_of_first.back() + unit(i));

  checks.equal("runs with another sum than one flow", measure(all, sum_of_first, rounds), 0);
  if (!checks.passed()) return checks.exit_code();

  // The same work: the speedup over the loop. More work: what the loop would have taken for all of it, over the time.
  const double unit_seconds = alone.best() / static_cast<double>(units);
  cookbook::println("\nOn {}, {} rounds", cookbook::machine(), alone.timing.repeats);
  cookbook::println("serial  threads  same work   Amdahl  efficiency  explained by  more work  Gustafson");
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    const double serial_part = fixed[i].serial_part;
    const int count = fixed[i].threads;
    const auto total = [&](const Run& run) { return unit_seconds * static_cast<double>(run.job.units); };
    const double same = speedup(total(fixed[i]), fixed[i].best()), more = speedup(total(grown[i]), grown[i].best());
    cookbook::println("{:4.0f} %  {:7}  {:7.2f} x  {:5.2f} x  {:8.0f} %  {:>12}  {:7.2f} x  {:7.2f} x",
                      100 * serial_part, count, same, amdahl(serial_part, count), 100 * efficiency(same, count),
                      count == 1 ? "-" : fmt::format("{:.0f} %", 100 * serial_part_of(same, count)), more,
                      gustafson(serial_part, count));
  }

  cookbook::Figures figures("the job without a serial part", cookbook::cost("ms", 1e-3));
  figures.times("one flow, a loop", "one flow");
  figures.add("one flow, a loop", alone.timing, 1);
  for (const Run& run : fixed) {
    if (run.serial_part == 0) figures.add(fmt::format("the parallel form, threads: {}", run.threads), run.timing, 1);
  }
  figures.print(checks);
  if (cookbook::json_wanted()) {
    print_points(checks, "speedup, the same work", "Amdahl", amdahl, fixed, unit_seconds);
    print_points(checks, "speedup, more work", "Gustafson", gustafson, grown, unit_seconds);
  }
  return checks.exit_code();
}
