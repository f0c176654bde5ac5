/// The points whose close pairs are counted, and how many pairs each thread has compared.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <vector>

struct Point {
  int x, y;
};

/// `count` points in a square of 10,000 by 10,000, the same in every run.
inline std::vector<Point> random_points(int count) {
  std::mt19937 random;
  std::vector<Point> points(count);
  for (Point& point : points) point = {static_cast<int>(random() % 10'000), static_cast<int>(random() % 10'000)};
  return points;
}

/// The pairs that one thread has compared. Aligned, so that no two threads write to the same cache line.
struct alignas(64) Compared {
  std::atomic<long> pairs = 0;
};

/// Of all threads that have compared any. A deque does not move its elements when it grows. It is never destroyed,
/// since the threads of OpenMP are still there when main() has returned.
inline std::deque<Compared>& compared_by_threads = *new std::deque<Compared>;
inline std::mutex compared_by_threads_mutex;

/// Adds `pairs` to what the calling thread has compared.
inline void note_compared(long pairs) {
  thread_local std::atomic<long>& mine = []() -> std::atomic<long>& {
    const std::scoped_lock lock(compared_by_threads_mutex);
    return compared_by_threads.emplace_back().pairs;
  }();
  mine.store(mine.load(std::memory_order_relaxed) + pairs, std::memory_order_relaxed);
}

/// Which part of all comparisons the busiest thread has made: 1 is all of them. Begins anew then.
inline double take_busiest_share() {
  const std::scoped_lock lock(compared_by_threads_mutex);
  long all = 0, most = 0;
  for (Compared& compared : compared_by_threads) {
    const long pairs = compared.pairs.exchange(0, std::memory_order_relaxed);
    all += pairs;
    most = std::max(most, pairs);
  }
  return all == 0 ? 1 : static_cast<double>(most) / static_cast<double>(all);
}

/// How many of the points behind points[i] are less than 100 away from it.
inline long close_to(const std::vector<Point>& points, int i) {
  note_compared(static_cast<long>(points.size()) - 1 - i);
  long found = 0;
  for (std::size_t j = i + 1; j < points.size(); ++j) {
    const int dx = points[j].x - points[i].x, dy = points[j].y - points[i].y;
    if (dx * dx + dy * dy < 100 * 100) ++found;
  }
  return found;
}
