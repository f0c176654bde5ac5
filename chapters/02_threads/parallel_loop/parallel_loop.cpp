// One loop in parallel
//
// A loop counts the pairs of points that are close to each other. Its iterations do not depend on one another, so
// threads can share them. The first iterations take the longest, so equal shares are not equal work: the output shows
// which part of the work the busiest thread has, and how many times as fast as one thread the loop is, with four
// schedules of OpenMP, with threads of our own and with oneTBB.
//
// Compile: g++ -std=c++20 -O2 -fopenmp -Icommon chapters/02_threads/parallel_loop/parallel_loop.cpp common/cookbook/*.cpp -ltbb -lfmt -o parallel_loop
// Run:     parallel_loop [--points N] [--threads N]

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "points.hpp"

namespace {

long by_one_thread(const std::vector<Point>& points, int) {
  long pairs = 0;
  for (int i = 0; i < static_cast<int>(points.size()); ++i) pairs += close_to(points, i);
  return pairs;
}

long by_equal_shares(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  long pairs = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : pairs)
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
  return pairs;
}

long by_shrinking_pieces(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  long pairs = 0;
#pragma omp parallel for num_threads(threads) schedule(guided) reduction(+ : pairs)
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
  return pairs;
}

long by_pieces_in_turn(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  long pairs = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 16) reduction(+ : pairs)
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
  return pairs;
}

long by_pieces_on_demand(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  long pairs = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) reduction(+ : pairs)
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
  return pairs;
}

long by_threads(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size()), piece = 16;
  std::atomic<int> next = 0;  // where the next piece begins
  std::atomic<long> pairs = 0;
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&] {
      long mine = 0;
      for (int begin = next.fetch_add(piece); begin < count; begin = next.fetch_add(piece)) {
        for (int i = begin; i < std::min(begin + piece, count); ++i) mine += close_to(points, i);
      }
      pairs += mine;  // once per thread, not once per iteration
    });
  }
  running.clear();  // waits for all of them
  return pairs;
}

long by_tbb(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  tbb::task_arena arena(threads);  // without one: as many threads as there are cores
  return arena.execute([&] {
    return tbb::parallel_reduce(
        tbb::blocked_range<int>(0, count), 0L,
        [&](const tbb::blocked_range<int>& range, long sum) {
          for (int i = range.begin(); i < range.end(); ++i) sum += close_to(points, i);
          return sum;
        },
        std::plus<>());
  });
}

/// A form of the loop, and what was found with it.
struct Row {
  const char* name;
  long (*form)(const std::vector<Point>&, int);
  int threads;
  long pairs = 0;        // that are close
  double seconds = 1e9;  // in the shortest of all runs
  double busiest = 0;    // which part of all comparisons the busiest thread made in it
};

/// Runs the row's form four more times.
void measure(Row& row, const std::vector<Point>& points) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // OpenMP's threads spin for a while after a loop
  for (int run = 0; run < 4; ++run) {
    const cookbook::Stopwatch watch;
    row.pairs = row.form(points, row.threads);
    const double seconds = watch.seconds(), busiest = take_busiest_share();
    if (seconds < row.seconds) row.seconds = seconds, row.busiest = busiest;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = 10'000, threads = 2;
  cookbook::Options options("Share one loop between threads by OpenMP, by hand and by oneTBB");
  options.add("points", count, "points", 1, 100'000);
  options.add("threads", threads, "threads", 1, 64);
  options.parse(argc, argv);

  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, threads);  // also more than cores

  const std::vector<Point> points = random_points(count);
  std::vector<Row> rows{{"one thread", by_one_thread, 1},
                        {"OpenMP, equal shares", by_equal_shares, threads},
                        {"OpenMP, shrinking pieces", by_shrinking_pieces, threads},
                        {"OpenMP, 16 each in turn", by_pieces_in_turn, threads},
                        {"OpenMP, 16 each on demand", by_pieces_on_demand, threads},
                        {"own threads, 16 each on demand", by_threads, threads},
                        {"oneTBB", by_tbb, threads}};
  for (int round = 0; round < 3; ++round) {
    for (Row& row : rows) measure(row, points);
  }

  cookbook::println("{:<30}{:>21}{:>15}{:>16}{:>12}", fmt::format("with {} threads", threads), "busiest thread does",
                    "speed at most", "speed measured", "time");
  std::vector<long> pairs;
  for (const Row& row : rows) {
    cookbook::println("{:<30}{:19.1f} %{:13.2f} x{:14.2f} x{:9.1f} ms", row.name, 100 * row.busiest, 1 / row.busiest,
                      rows[0].seconds / row.seconds, row.seconds * 1e3);
    pairs.push_back(row.pairs);
  }

  cookbook::Checks checks;
  checks.equal("close pairs found by each", pairs, std::vector(rows.size(), pairs[0]));
  return checks.exit_code();
}
