// What a parallel loop costs: an empty one, by OpenMP, oneTBB and threads; how long each schedule takes to hand an
// iteration out; and how well each schedule shares a loop whose first iterations take the longest.
//
// Compile: g++ -std=c++20 -O3 -march=native -fopenmp -Icommon chapters/02_threads/parallel_loop/parallel_loop_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -o parallel_loop_bench
// Run:     parallel_loop_bench [--points N] [--threads N] [--rounds N]

#include <omp.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "points.hpp"

namespace {

/// Waits until the threads of OpenMP and oneTBB, which look for more work for a few ms after a loop, are asleep.
void let_threads_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

/// A loop from 0 to `count` that adds up body(i), shared by OpenMP with a schedule.
template <typename Body>
long openmp_loop(int threads, int count, omp_sched_t schedule, int piece, const Body& body) {
  omp_set_schedule(schedule, piece);
  long sum = 0;
#pragma omp parallel for num_threads(threads) schedule(runtime) reduction(+ : sum)
  for (int i = 0; i < count; ++i) sum += body(i);
  return sum;
}

/// The same by oneTBB, with pieces of at least `piece` iterations.
template <typename Partitioner, typename Body>
long tbb_loop(tbb::task_arena& arena, int count, int piece, const Body& body) {
  return arena.execute([&] {
    return tbb::parallel_reduce(
        tbb::blocked_range<int>(0, count, piece), 0L,
        [&](const tbb::blocked_range<int>& range, long sum) {
          for (int i = range.begin(); i < range.end(); ++i) sum += body(i);
          return sum;
        },
        std::plus<>(), Partitioner());
  });
}

/// The same by threads that are started for it, and take the next `piece` iterations from a shared counter.
template <typename Body>
long thread_loop(int threads, int count, int piece, const Body& body) {
  std::atomic<int> next = 0;
  std::atomic<long> sum = 0;
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&] {
      long mine = 0;
      for (int begin = next.fetch_add(piece); begin < count; begin = next.fetch_add(piece)) {
        for (int i = begin; i < std::min(begin + piece, count); ++i) mine += body(i);
      }
      sum += mine;
    });
  }
  running.clear();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 20'000, threads = 2, rounds = 11;
  cookbook::Options options("Measure what parallel loops and their schedules cost");
  options.add("points", count, "points, all pairs of which are compared", 100, 200'000);
  options.add("threads", threads, "threads", 1, 256);
  options.add("rounds", rounds, "rounds", 1, 1000);
  options.parse(argc, argv);

  tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, std::max(threads, 1));
  tbb::task_arena arena(threads);
  long wrong = 0;

  // Empty loops of one iteration per thread: `regions` of them back to back, or one after a pause.
  const int regions = count / 100;
  std::vector<cookbook::Benchmark> rows;
  const auto region_rows = [&](const std::string& name, auto region) {
    rows.emplace_back(name, regions, [region, regions] {
      let_threads_sleep();
      const cookbook::Stopwatch watch;
      for (int i = 0; i < regions; ++i) region();
      return watch.seconds();
    });
    rows.emplace_back(name + ", after a pause", 1, [region] {
      let_threads_sleep();
      const cookbook::Stopwatch watch;
      region();
      return watch.seconds();
    });
  };
  const auto nothing = [](int i) { return i & 1L; };
  region_rows("OpenMP", [&] { wrong += openmp_loop(threads, threads, omp_sched_static, 0, nothing) != threads / 2; });
  region_rows("oneTBB", [&] { wrong += tbb_loop<tbb::simple_partitioner>(arena, threads, 1, nothing) != threads / 2; });
  region_rows("threads", [&] { wrong += thread_loop(threads, threads, 1, nothing) != threads / 2; });
  cookbook::Figures empty("An empty parallel loop", cookbook::cost("us", 1e-6));
  empty.measure(rows, rounds);

  // Every schedule, on a loop whose iterations cost next to nothing, and on one whose first iterations take the
  // longest.
  const auto schedules = [&](double amount, int iterations, long expected, auto body) {
    std::vector<cookbook::Benchmark> made;
    const auto row = [&](const std::string& name, auto loop) {
      made.emplace_back(name, amount, [=, &wrong] {
        let_threads_sleep();
        const cookbook::Stopwatch watch;
        wrong += loop() != expected;
        return watch.seconds();
      });
    };
    made.emplace_back("one thread's time / threads", amount, [=, &wrong] {
      long sum = 0;
      const cookbook::Stopwatch watch;
      for (int i = 0; i < iterations; ++i) sum += body(i);
      const double seconds = watch.seconds();
      wrong += sum != expected;
      return seconds / threads;
    });
    const auto openmp = [=](omp_sched_t schedule, int piece) {
      return [=] { return openmp_loop(threads, iterations, schedule, piece, body); };
    };
    row("OpenMP static", openmp(omp_sched_static, 0));
    row("OpenMP static, 16", openmp(omp_sched_static, 16));
    row("OpenMP dynamic, 1", openmp(omp_sched_dynamic, 1));
    row("OpenMP dynamic, 16", openmp(omp_sched_dynamic, 16));
    row("OpenMP dynamic, 256", openmp(omp_sched_dynamic, 256));
    row("OpenMP guided", openmp(omp_sched_guided, 1));
    row("oneTBB static", [=, &arena] { return tbb_loop<tbb::static_partitioner>(arena, iterations, 1, body); });
    row("oneTBB simple, 16", [=, &arena] { return tbb_loop<tbb::simple_partitioner>(arena, iterations, 16, body); });
    row("oneTBB auto", [=, &arena] { return tbb_loop<tbb::auto_partitioner>(arena, iterations, 1, body); });
    row("threads, 16", [=] { return thread_loop(threads, iterations, 16, body); });
    return made;
  };

  const int tiny = 100 * count;
  cookbook::Figures handing("Handing out an iteration", cookbook::cost("ns", 1e-9));
  handing.measure(schedules(tiny, tiny, tiny / 2,
                            [](int i) {
                              cookbook::do_not_optimize(i);  // else the compiler computes the sum without a loop
                              return i & 1L;
                            }),
                  rounds);

  const std::vector<Point> points = random_points(count);
  long pairs = 0;
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
  cookbook::Figures uneven("Comparing all pairs", cookbook::rate("M pairs/s", 1e6));
  uneven.measure(schedules(0.5 * count * (count - 1.0), count, pairs, [&](int i) { return close_to(points, i); }),
                 rounds);
  uneven.percent_of("one thread's time / threads", "limit");

  cookbook::Checks checks;
  checks.equal("loops with a wrong sum", wrong, 0L);
  empty.print(checks);
  handing.print(checks);
  uneven.print(checks);
  return checks.exit_code();
}
