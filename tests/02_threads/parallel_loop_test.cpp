// The program's output, recomputed, and its functions from inside.

#include <tbb/global_control.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "02_threads/parallel_loop/points.hpp"

namespace {

std::mutex noting;         // main takes it, too: ThreadSanitizer cannot see that OpenMP's threads are done with a loop
std::map<int, int> calls;  // how often close_to() was called for each point
std::set<pid_t> callers;   // the threads that have called it
std::vector<pid_t> caller_of(2000);
std::atomic<bool> hold_up = false;  // whether the call for point 0 waits until the others have done nearly all points
std::atomic<bool> others_went_on = false;
std::atomic<std::size_t> rest_of_its_piece = 15;  // the points behind 0 that wait with it

long noted_close_to(const std::vector<Point>& points, int i) {
  {
    const std::scoped_lock lock(noting);
    ++calls[i];
    callers.insert(gettid());
    if (i < 2000) caller_of[i] = gettid();
  }
  if (hold_up && i == 0) {
    for (int look = 0; look < 1000 && !others_went_on; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::scoped_lock lock(noting);
      others_went_on = calls.size() >= points.size() - rest_of_its_piece;
    }
  }
  return close_to(points, i);
}

}  // namespace

// The program's functions are tested from inside, too, with a close_to() that notes who calls it.
#define main main_of_the_program
#define close_to noted_close_to
#include "02_threads/parallel_loop/parallel_loop.cpp"
#undef close_to
#undef main

#include "support/eventually.hpp"
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
  EXPECT_TRUE(result.err.empty()) << "oneTBB warns if it has fewer threads than the arena\n" << result.text();
  const std::string pairs = std::to_string(close_pairs(random_points(points)));
  std::string all = pairs;
  for (int form = 1; form < 7; ++form) all += ", " + pairs;
  EXPECT_TRUE(result.has_line("ok    close pairs found by each: [" + all + "]")) << result.text();
}

TEST(parallel_loop, all_forms_find_every_pair_once_for_any_number_of_threads) {
  for (const char* threads : {"1", "2", "3", "7", "64"}) expect_pairs({"--threads", threads, "--points", "2000"}, 2000);
}

TEST(parallel_loop, all_forms_find_every_pair_once_for_any_number_of_points) {
  for (const int points : {1, 2, 15, 16, 17, 33, 1000}) expect_pairs({"--points", std::to_string(points)}, points);
}

using Form = long(const std::vector<Point>&, int);

/// Whether `form` calls close_to() once for each point, and, sooner or later, in at least `least` threads of four.
bool is_shared(Form form, std::size_t least) {
  const auto points = random_points(1990);  // not a whole number of pieces: the last one ends early
  return test_support::eventually([&] {
    {
      const std::scoped_lock lock(noting);
      calls.clear();
      callers.clear();
    }
    form(points, 4);
    const std::scoped_lock lock(noting);
    EXPECT_EQ(calls.size(), points.size());
    for (const auto& [i, times] : calls) EXPECT_EQ(times, 1) << i;
    return callers.size() >= least;
  });
}

TEST(parallel_loop, several_threads_share_every_parallel_form) {
  EXPECT_TRUE(is_shared(by_one_thread, 1));
  EXPECT_TRUE(is_shared(by_equal_shares, 4));
  EXPECT_TRUE(is_shared(by_shrinking_pieces, 2));
  EXPECT_TRUE(is_shared(by_pieces_in_turn, 4));
  EXPECT_TRUE(is_shared(by_pieces_on_demand, 2));
#ifndef __SANITIZE_THREAD__
  const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
  EXPECT_TRUE(is_shared(by_tbb, 2));
#endif
  EXPECT_TRUE(is_shared(by_threads, 2));
}

TEST(parallel_loop, with_equal_shares_each_thread_has_one_block) {
  const auto points = random_points(2000);
  by_equal_shares(points, 4);
  const std::scoped_lock lock(noting);
  int changes = 0;
  for (std::size_t i = 1; i < points.size(); ++i) changes += caller_of[i] != caller_of[i - 1];
  EXPECT_EQ(changes, 3);
}

TEST(parallel_loop, pieces_in_turn_go_round) {
  const auto points = random_points(2000);
  by_pieces_in_turn(points, 4);
  const std::scoped_lock lock(noting);
  std::set<pid_t> first_four;
  for (std::size_t i = 0; i < 64; i += 16) first_four.insert(caller_of[i]);
  EXPECT_EQ(first_four.size(), 4U);
  for (std::size_t i = 0; i < points.size(); ++i) ASSERT_EQ(caller_of[i], caller_of[i % 64 / 16 * 16]) << i;
}

TEST(parallel_loop, pieces_go_to_the_threads_that_are_free) {
  const auto points = random_points(2000);
  for (Form* form : {by_pieces_on_demand, by_threads}) {
    {
      const std::scoped_lock lock(noting);
      calls.clear();
    }
    others_went_on = false;
    hold_up = true;
    form(points, 4);
    hold_up = false;
    EXPECT_TRUE(others_went_on);
  }
}

TEST(parallel_loop, the_first_of_the_shrinking_pieces_is_large) {  // with GCC 500 points, with Clang 250
  const auto points = random_points(2000);
  {
    const std::scoped_lock lock(noting);
    calls.clear();
  }
  others_went_on = false;
  rest_of_its_piece = 499;
  hold_up = true;
  by_shrinking_pieces(points, 4);
  hold_up = false;
  rest_of_its_piece = 15;
  EXPECT_TRUE(others_went_on);
  const std::scoped_lock lock(noting);
  for (std::size_t i = 1; i < 250; ++i) ASSERT_EQ(caller_of[i], caller_of[0]) << i;
}

struct Printed {
  double busiest, at_most, measured, milliseconds;
};

/// The program's rows by their names.
std::map<std::string, Printed> printed(const test_support::Result& result) {
  std::map<std::string, Printed> rows;
  for (const std::string& line : result.lines_with(" ms$")) {
    std::istringstream columns(line.substr(30));
    std::string unit;
    Printed& row = rows[line.substr(0, line.find("  "))];
    columns >> row.busiest >> unit >> row.at_most >> unit >> row.measured >> unit >> row.milliseconds;
    EXPECT_TRUE(columns) << line;
  }
  EXPECT_EQ(rows.size(), 7U) << result.text();
  return rows;
}

TEST(parallel_loop, equal_shares_are_not_equal_work) {
  const auto busiest = [](const char* row, const char* threads) {
    return printed(run("parallel_loop", {"--points", "1000", "--threads", threads}))[row].busiest;
  };
  EXPECT_EQ(busiest("OpenMP, equal shares", "1"), 100.0);
  EXPECT_EQ(busiest("OpenMP, equal shares", "2"), 75.0);     // 374,750 of 499,500
  EXPECT_EQ(busiest("OpenMP, equal shares", "4"), 43.8);     // 218,625
  EXPECT_EQ(busiest("OpenMP, 16 each in turn", "2"), 50.8);  // 253,732
  EXPECT_EQ(busiest("OpenMP, 16 each in turn", "4"), 26.2);  // 130,944
}

TEST(parallel_loop, the_speed_is_the_time_of_one_thread_divided_by_that_of_the_row) {
  const cookbook::Stopwatch watch;
  const auto result = run("parallel_loop", {"--points", "5000"});
  const double all = watch.seconds() * 1e3;
  auto rows = printed(result);
  const double one = rows["one thread"].milliseconds;
  double sum = 0;
  for (const auto& [name, row] : rows) {  // printed with one decimal, and with two
    EXPECT_GE(row.measured, (one - 0.06) / (row.milliseconds + 0.06) - 0.01) << result.text();
    EXPECT_LE(row.measured, (one + 0.06) / (row.milliseconds - 0.06) + 0.01) << result.text();
    EXPECT_NEAR(row.at_most, 100 / row.busiest, 0.01) << result.text();
    EXPECT_GE(row.busiest, name == "one thread" ? 100 : 50) << result.text();
    sum += row.milliseconds - 0.06;
  }
  EXPECT_LE(12 * sum, all) << "a row is the shortest of twelve runs\n" << result.text();
}

#ifndef __SANITIZE_THREAD__
TEST(parallel_loop, each_form_runs_twelve_times) {
  {
    const std::scoped_lock lock(noting);
    calls.clear();
  }
  std::string name = "parallel_loop", option = "--points", points = "40";
  char* arguments[] = {name.data(), option.data(), points.data(), nullptr};
  EXPECT_EQ(main_of_the_program(3, arguments), 0);
  const std::scoped_lock lock(noting);
  EXPECT_EQ(calls.size(), 40U);
  for (const auto& [i, times] : calls) EXPECT_EQ(times, 7 * 12) << i;
}
#endif

TEST(parallel_loop, no_form_is_measured_before_the_threads_of_the_last_one_sleep) {
  const cookbook::Stopwatch watch;
  Row row{"one thread", by_one_thread, 1};
  measure(row, random_points(1));
  EXPECT_GE(watch.seconds(), 0.02);
}

TEST(parallel_loop_points, the_busiest_thread_is_the_one_that_has_compared_most) {
  take_busiest_share();
  note_compared(100);
  std::jthread([] { note_compared(100); }).join();
  std::jthread([] { note_compared(250), note_compared(50); }).join();
  EXPECT_EQ(take_busiest_share(), 0.6);
  note_compared(7);
  EXPECT_EQ(take_busiest_share(), 1);
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
