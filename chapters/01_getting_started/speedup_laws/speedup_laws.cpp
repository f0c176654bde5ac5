// Speedup and its laws
//
// What does a second processor gain, and what a hundredth? Speedup, efficiency and the laws of Amdahl and Gustafson are
// five lines of arithmetic (laws.hpp). A job whose serial part can be set then shows how true they are: once with
// the same work for 1, 2, ... threads, once with work that grows with the threads. The measured points fall on the
// curves as long as each thread has a core to itself. --out draws both.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/01_getting_started chapters/01_getting_started/speedup_laws/speedup_laws.cpp common/cookbook/*.cpp -lfmt -pthread -o speedup_laws
// Run:     speedup_laws [--threads N] [--units N] [--rounds N] [--out FILE.svg]

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "laws.hpp"
#include "plot.hpp"

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

/// 1, 2, 4, ... and `most`.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

/// The formulas, held against numbers that can be checked by hand.
void check_laws(cookbook::Verdict& verdict) {
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  verdict.equal("8 s alone, 2 s together: speedup", speedup(8, 2), 4.0);
  verdict.equal("its kind on 4, 5 and 3 processors", std::vector{kind_of(4, 4), kind_of(4, 5), kind_of(4, 3)},
                {"linear", "real", "superlinear"});
  verdict.equal("its efficiency on 4, 5 and 3",
                std::vector{efficiency(4, 4), efficiency(4, 5), rounded(efficiency(4, 3))}, {1.0, 0.8, 1.3333});

  cookbook::println("one tenth is serial:  processors    Amdahl  Gustafson");
  std::vector<double> by_amdahl, by_gustafson;
  for (const double processors : {1.0, 2.0, 4.0, 8.0, 10.0, 100.0}) {
    by_amdahl.push_back(rounded(amdahl(0.1, processors)));
    by_gustafson.push_back(rounded(gustafson(0.1, processors)));
    cookbook::println("{:32}  {:8.4f}  {:9.4f}", processors, by_amdahl.back(), by_gustafson.back());
  }
  verdict.equal("Amdahl", by_amdahl, {1, 1.8182, 3.0769, 4.7059, 5.2632, 9.1743});
  verdict.equal("Amdahl, processors without end", amdahl_limit(0.1), 10.0);
  verdict.equal("Gustafson", by_gustafson, {1, 1.9, 3.7, 7.3, 9.1, 90.1});
  verdict.equal("Gustafson, 64 processors, nothing and all serial", std::vector{gustafson(0, 64), gustafson(1, 64)},
                {64, 1});
  verdict.equal("serial part that explains a speedup of 4.7059 on 8", rounded(serial_part_of(4.7059, 8)), 0.1);
}

/// One thing to measure, and the seconds that it took in each round.
struct Run {
  double serial_part;
  int threads;  ///< 0 for the loop of one_flow()
  Job job;
  std::vector<double> seconds = {};
  long wrong = 0;  ///< rounds whose sum was not that of one flow

  void measure(Sum expected) {
    const cookbook::Stopwatch watch;
    const Sum sum = threads == 0 ? one_flow(job) : many_flows(job, threads);
    seconds.push_back(watch.seconds());
    wrong += sum != expected;
  }

  /// Other programs only ever add to a time, so the shortest is the one that says most about this one.
  double best() const { return *std::ranges::min_element(seconds); }
};

}  // namespace

int main(int argc, char** argv) {
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())), rounds = 5;
  long units = 10'000;
  std::string out;
  cookbook::Options options("Compute and measure what more processors gain");
  options.add("threads", threads, "most threads to measure", 1, 256);
  options.add("units", units, "units of work for one thread; each takes a microsecond or two", 100, 10'000'000);
  options.add("rounds", rounds, "times that everything is measured", 1, 1'000);
  options.add("out", out, "file for the picture of curves and points, SVG; none if not given");
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  check_laws(verdict);

  std::vector<Run> alone = {{0, 0, job_of(units, 0, 1)}}, fixed, grown;
  for (const double serial_part : serial_parts) {
    for (const int count : thread_counts(threads)) {
      fixed.push_back({serial_part, count, job_of(units, serial_part, 1)});
      grown.push_back({serial_part, count, job_of(units, serial_part, count)});
    }
  }
  std::vector<Sum> sum_of_first = {0};  // the result of one flow for any number of units
  for (Sum i = 0; i < static_cast<Sum>(units * threads); ++i) sum_of_first.push_back(sum_of_first.back() + unit(i));

  long wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::vector<Run>* runs : {&alone, &fixed, &grown}) {
      for (Run& run : *runs) run.measure(sum_of_first[static_cast<std::size_t>(run.job.units)]);
    }
  }
  for (const std::vector<Run>* runs : {&alone, &fixed, &grown}) {
    for (const Run& run : *runs) wrong += run.wrong;
  }
  verdict.equal("runs with another sum than one flow", wrong, 0);
  if (!verdict.passed()) return verdict.exit_code();

  // The same work: the speedup over the loop. More work: what the loop would have taken for all of it, over the time.
  const double unit_seconds = alone.front().best() / static_cast<double>(units);
  std::vector<Point> fixed_points, grown_points;
  cookbook::println("\nOn {}, {} rounds", cookbook::machine(), rounds);
  cookbook::println("serial  threads  same work   Amdahl  efficiency  explained by  more work  Gustafson");
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    const double serial_part = fixed[i].serial_part;
    const int count = fixed[i].threads;
    const auto total = [&](const Run& run) { return unit_seconds * static_cast<double>(run.job.units); };
    const double same = speedup(total(fixed[i]), fixed[i].best()), more = speedup(total(grown[i]), grown[i].best());
    fixed_points.push_back({serial_part, static_cast<double>(count), same});
    grown_points.push_back({serial_part, static_cast<double>(count), more});
    cookbook::println("{:4.0f} %  {:7}  {:7.2f} x  {:5.2f} x  {:8.0f} %  {:>12}  {:7.2f} x  {:7.2f} x",
                      100 * serial_part, count, same, amdahl(serial_part, count), 100 * efficiency(same, count),
                      count == 1 ? "-" : fmt::format("{:.0f} %", 100 * serial_part_of(same, count)), more,
                      gustafson(serial_part, count));
  }

  cookbook::Figures figures("the job without a serial part", cookbook::cost("ms", 1e-3));
  figures.add_peer("one flow, a loop", cookbook::timing_of(alone.front().seconds), 1);
  for (std::size_t i = 0; i < thread_counts(threads).size(); ++i) {
    figures.add(fmt::format("the parallel form, threads: {}", fixed[i].threads), cookbook::timing_of(fixed[i].seconds),
                1);
  }
  figures.print(verdict);
  if (!out.empty()) draw_laws(out, fixed_points, grown_points);
  return verdict.exit_code();
}
