// The program's output, its counting threads and HandMadeBarrier from inside.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "02_threads/latch_and_barrier/hand_made_barrier.hpp"
#include "cookbook/print.hpp"
#include "support/most_at_once.hpp"

namespace cookbook {

std::size_t threads_at_the_last_line = 0;

/// Takes the place of println() in the program: notes how many threads there are a while after it has been called.
template <typename... Values>
void noted_println(fmt::format_string<Values...> format, Values&&... values) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // time for threads that end too early
  threads_at_the_last_line = test_support::threads_of_this_process();
  println(format, std::forward<Values>(values)...);
}

}  // namespace cookbook

#define main main_of_the_program  // its functions are tested from inside, too
#define println noted_println
#include "02_threads/latch_and_barrier/latch_and_barrier.cpp"
#undef println
#undef main

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

/// The picture that the program must print, found in another way: cell k of row y stands for the binomial coefficient
/// (y, k), and is '#' if that is odd, which is so if k and y - k have no bit in common.
std::vector<std::string> picture(int rows) {
  std::vector<std::string> lines;
  for (int y = 0; y < rows; ++y) {
    std::string line(2 * rows - 1, '.');
    for (int k = 0; k <= y; ++k) {
      if ((k & (y - k)) == 0) line[rows - 1 - y + 2 * k] = '#';
    }
    lines.push_back(line);
  }
  return lines;
}

/// The picture as it comes out if each thread draws all its rows before the next thread begins. A thread finds '.' in
/// what has not been drawn.
std::vector<std::string> picture_without_waiting(int rows, int threads) {
  const int width = 2 * rows - 1;
  std::vector<std::string> lines(rows, std::string(width, '.'));
  lines[0][rows - 1] = '#';
  std::vector<int> owner(width);
  for (int x = 0; x < width; ++x) {
    while (width * (owner[x] + 1) / threads <= x) ++owner[x];
  }
  for (int thread = 0; thread < threads; ++thread) {
    for (int y = 1; y < rows; ++y) {
      for (int x = 0; x < width; ++x) {
        if (owner[x] != thread) continue;
        const int neighbours = (x > 0 && lines[y - 1][x - 1] == '#') + (x + 1 < width && lines[y - 1][x + 1] == '#');
        lines[y][x] = neighbours == 1 ? '#' : '.';
      }
    }
  }
  return lines;
}

/// The picture with a '|' before the first cell of each part but the first one.
std::vector<std::string> parted(const std::vector<std::string>& lines, int threads) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    const int width = static_cast<int>(line.size());
    std::string& with_borders = found.emplace_back();
    for (int x = 0, part = 1; x <= width; ++x) {
      for (; part < threads && width * part / threads == x; ++part) with_borders += '|';
      if (x < width) with_borders += line[x];
    }
  }
  return found;
}

TEST(latch_and_barrier, the_pictures_are_those_with_and_without_waiting_for_any_number_of_threads_and_rows) {
  const std::vector<std::pair<int, int>> sizes = {{4, 16}, {1, 16}, {2, 33}, {3, 1}, {4, 2}, {7, 300}, {20, 9}};
  for (const auto& [threads, rows] : sizes) {
    const auto result = run("latch_and_barrier", {"--threads", std::to_string(threads), "--rows", std::to_string(rows)},
                            {.limit = 60s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::vector<std::string> right = picture(rows), unordered = picture_without_waiting(rows, threads);
    std::vector<std::string> marks;
    long count = 0, wrong = 0;
    for (int y = 0; y < rows; ++y) {
      std::string& mark = marks.emplace_back();
      for (std::size_t x = 0; x < right[y].size(); ++x) mark += right[y][x] == unordered[y][x] ? '.' : 'x';
      count += std::count(right[y].begin(), right[y].end(), '#');
      wrong += std::count(mark.begin(), mark.end(), 'x');
    }
    EXPECT_EQ(result.captures("^([.#|]+) +[.#|]+ +[.x|]+$"), parted(right, threads));
    EXPECT_EQ(result.captures("^[.#|]+ +([.#|]+) +[.x|]+$"), parted(unordered, threads)) << result.text();
    EXPECT_EQ(result.captures("^[.#|]+ +[.#|]+ +([.x|]+)$"), parted(marks, threads)) << result.text();
    EXPECT_TRUE(result.has_line("wrong cells: 0 with a barrier, " + std::to_string(wrong) + " without waiting"))
        << result.text();
    EXPECT_TRUE(result.has_line(std::to_string(count) + " '#', printed before any of the " + std::to_string(threads) +
                                " threads that counted has ended"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    '#' that all threads counted: " + std::to_string(count))) << result.text();
  }
}

TEST(latch_and_barrier, with_two_threads_the_picture_without_waiting_is_right_by_luck) {
  const auto result = run("latch_and_barrier", {"--threads", "2"});
  EXPECT_TRUE(result.has_line("wrong cells: 0 with a barrier, 0 without waiting")) << result.text();
}

TEST(latch_and_barrier, no_thread_has_ended_when_the_sum_is_printed) {
  const std::size_t before = test_support::threads_of_this_process();
  EXPECT_EQ(count_in_parts(new_picture(8), 4), 1);
  EXPECT_EQ(cookbook::threads_at_the_last_line, before + 4 + test_support::sanitizer_threads);
}

TEST(latch_and_barrier, the_sum_waits_for_threads_that_count_for_long) {
  EXPECT_EQ(count_in_parts(Picture(2'000, std::string(4'000, '#')), 4), 8'000'000);
}

TEST(latch_and_barrier_by_hand, nobody_goes_on_before_all_have_come) {
  constexpr int phases = 1000;
  for (const int threads : {1, 2, 3, 8}) {
    HandMadeBarrier barrier(threads);
    std::vector<std::atomic<int>> come(phases);
    std::atomic<int> too_early = 0;
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&] {
          for (std::atomic<int>& phase : come) {
            ++phase;
            barrier.arrive_and_wait();
            too_early += phase != threads;
          }
        });
      }
    }
    EXPECT_EQ(too_early, 0) << threads << " threads";
  }
}

TEST(latch_and_barrier_by_hand, what_was_written_before_it_is_seen_after_it) {
  constexpr int threads = 4, phases = 500;
  HandMadeBarrier barrier(threads);
  std::vector<int> values(threads, 0);  // no atomics, and no other lock
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&, i] {
        for (int phase = 1; phase <= phases; ++phase) {
          values[i] = phase;
          barrier.arrive_and_wait();
          for (const int value : values) wrong += value != phase;
          barrier.arrive_and_wait();
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
