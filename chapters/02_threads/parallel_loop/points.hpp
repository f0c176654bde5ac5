/// The points whose close pairs are counted.
#pragma once

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

/// How many of the points behind points[i] are less than 100 away from it.
inline long close_to(const std::vector<Point>& points, int i) {
  long found = 0;
  for (std::size_t j = i + 1; j < points.size(); ++j) {
    const int dx = points[j].x - points[i].x, dy = points[j].y - points[i].y;
    if (dx * dx + dy * dy < 100 * 100) ++found;
  }
  return found;
}
