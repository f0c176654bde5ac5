// The program's output, recomputed, and its points from inside.

#include <string>
#include <vector>

#include "02_threads/parallel_loop/points.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// All pairs, without close_to().
long close_pairs(const std::vector<Point>& points) {
  long pairs = 0;
  for (const Point& a : points) {
    for (const Point& b : points) {
      const long dx = a.x - b.x, dy = a.y - b.y;
      if (&a < &b && dx * dx + dy * dy < 10'000) ++pairs;
    }
  }
  return pairs;
}

void expect_pairs(const std::vector<std::string>& arguments, int points) {
  const auto result = run("parallel_loop", arguments);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string expected = ": " + std::to_string(close_pairs(random_points(points)));
  for (const char* who : {"OpenMP", "oneTBB", "threads"}) {
    EXPECT_TRUE(result.has_line(std::string("ok    close pairs by ") + who + expected)) << result.text();
  }
}

TEST(parallel_loop, all_three_find_every_pair_once_for_any_number_of_threads) {
  for (const char* threads : {"1", "2", "3", "7", "64"}) expect_pairs({"--threads", threads, "--points", "2000"}, 2000);
}

TEST(parallel_loop, all_three_find_every_pair_once_for_any_number_of_points) {
  for (const int points : {1, 2, 15, 16, 17, 33, 1000}) expect_pairs({"--points", std::to_string(points)}, points);
}

TEST(parallel_loop, equal_shares_are_not_equal_work) {
  const auto shares = [](const char* threads) {
    const auto result = run("parallel_loop", {"--points", "1000", "--threads", threads});
    std::vector<long> compared;
    for (const std::string& number : result.captures("^equal shares: thread \\d+ compares (\\d+) pairs$")) {
      compared.push_back(std::stol(number));
    }
    return compared;
  };
  EXPECT_EQ(shares("1"), (std::vector<long>{499'500}));
  EXPECT_EQ(shares("2"), (std::vector<long>{374'750, 124'750}));
  EXPECT_EQ(shares("4"), (std::vector<long>{218'625, 156'125, 93'625, 31'125}));
}

TEST(parallel_loop_points, are_the_same_in_every_run_and_within_their_square) {
  const auto points = random_points(1000), again = random_points(1000);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].x, again[i].x);
    EXPECT_EQ(points[i].y, again[i].y);
    EXPECT_TRUE(0 <= points[i].x && points[i].x < 10'000 && 0 <= points[i].y && points[i].y < 10'000);
  }
}

TEST(parallel_loop_points, close_is_less_than_100_away_and_looks_only_forward) {
  const std::vector<Point> points{{0, 0}, {100, 0}, {99, 0}, {0, 99}, {60, 80}, {60, 79}};
  EXPECT_EQ(close_to(points, 0), 3);  // not {100, 0} and not {60, 80}, which are 100 away
  EXPECT_EQ(close_to(points, 4), 1);
  EXPECT_EQ(close_to(points, 5), 0);
  const std::vector<Point> corners{{0, 0}, {9999, 9999}, {9999, 0}, {0, 9999}};
  EXPECT_EQ(close_to(corners, 0), 0);  // dx * dx + dy * dy fits into an int
}

}  // namespace
