// One loop in parallel
//
// A loop counts the pairs of points that are close to each other. Its iterations do not depend on one another, so
// threads can share them. The first iterations take the longest, so equal shares are not equal work: the output shows
// who has how much, and how many times as fast as one thread the loop is with equal shares, and when small pieces are
// handed out one after another by OpenMP, by oneTBB and by threads of our own.
//
// Compile: g++ -std=c++20 -O2 -fopenmp -Icommon chapters/02_threads/parallel_loop/parallel_loop.cpp common/cookbook/*.cpp -ltbb -lfmt -o parallel_loop
// Run:     parallel_loop [--points N] [--threads N]

#include <omp.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
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

/// How many pairs each thread compares if all threads get equal shares of the iterations.
std::vector<long> compared_in_equal_shares(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  std::vector<long> compared(threads);  // each thread writes to an element of its own
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int i = 0; i < count; ++i) compared[omp_get_thread_num()] += count - 1 - i;
  return compared;
}

long by_equal_shares(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  long pairs = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : pairs)
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
  return pairs;
}

long by_openmp(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size());
  long pairs = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) reduction(+ : pairs)
  for (int i = 0; i < count; ++i) pairs += close_to(points, i);
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

long by_threads(const std::vector<Point>& points, int threads) {
  const int count = static_cast<int>(points.size()), piece = 16;
  std::atomic<int> next = 0;  // where the next piece begins
  std::atomic<long> pairs = 0;
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      cookbook::pin(thread);  // else the system may start two of them on one core, and move one only later
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

/// The number of close pairs, and the time that it took: the shortest of ten.
struct Found {
  long pairs;
  double seconds;
};

Found best_of_ten(long (*form)(const std::vector<Point>&, int), const std::vector<Point>& points, int threads) {
  Found found{0, 1e9};
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // OpenMP's threads spin for a while after a loop
  for (int run = 0; run < 10; ++run) {
    const cookbook::Stopwatch watch;
    found.pairs = form(points, threads);
    found.seconds = std::min(found.seconds, watch.seconds());
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 5000, threads = 2;
  cookbook::Options options("Share one loop between threads by OpenMP, by oneTBB and by hand");
  options.add("points", count, "points", 1, 100'000);
  options.add("threads", threads, "threads", 1, 64);
  options.parse(argc, argv);

  const std::vector<Point> points = random_points(count);
  const std::vector<long> compared = compared_in_equal_shares(points, threads);
  for (int thread = 0; thread < threads; ++thread) {
    cookbook::println("equal shares: thread {} compares {} pairs", thread, compared[thread]);
  }

  const Found one = best_of_ten(by_one_thread, points, 1), equal = best_of_ten(by_equal_shares, points, threads),
              openmp = best_of_ten(by_openmp, points, threads), tbb = best_of_ten(by_tbb, points, threads),
              own = best_of_ten(by_threads, points, threads);
  const auto print = [&](const char* what, double seconds) {
    cookbook::println("{:<32}{:8.1f} ms{:8.2f} x", what, seconds * 1e3, one.seconds / seconds);
  };
  print("one thread", one.seconds);
  print("OpenMP, equal shares", equal.seconds);
  print("OpenMP, pieces of 16", openmp.seconds);
  print("oneTBB", tbb.seconds);
  print("threads of our own, pieces of 16", own.seconds);

  cookbook::Checks checks;
  checks.equal("close pairs by OpenMP, equal shares", equal.pairs, one.pairs);
  checks.equal("close pairs by OpenMP, pieces of 16", openmp.pairs, one.pairs);
  checks.equal("close pairs by oneTBB", tbb.pairs, one.pairs);
  checks.equal("close pairs by threads", own.pairs, one.pairs);
  return checks.exit_code();
}
