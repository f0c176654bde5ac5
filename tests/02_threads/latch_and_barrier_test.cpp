// Latch and barrier: the program seen from outside. Beyond the source.

#include <utility>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The picture that the program must print, by another way: cell k of row y is Pascal's binomial(y, k), and it lives if
/// that is odd, which is so if k and y - k have no bit in common.
std::vector<std::string> picture(int rows) {
  std::vector<std::string> lines;
  for (int y = 0; y < rows; ++y) {
    std::string line(static_cast<std::size_t>(2 * rows - 1), '.');
    for (int k = 0; k <= y; ++k) {
      if ((k & (y - k)) == 0) line[static_cast<std::size_t>(rows - 1 - y + 2 * k)] = '#';
    }
    lines.push_back(line);
  }
  return lines;
}

/// n, n - 1, ... 1 as the program prints them.
std::string countdown(int n) {
  std::string list = std::to_string(n);
  while (--n > 0) list += ", " + std::to_string(n);
  return list;
}

TEST(latch_and_barrier, phases_latch_and_drop_hold_for_any_threads_and_rows) {
  const std::vector<std::pair<int, int>> sizes = {{1, 16}, {2, 33}, {3, 1}, {4, 2}, {7, 40}, {64, 9}};
  for (const auto& [threads, rows] : sizes) {
    const auto result =
        run("latch_and_barrier", {"--threads", std::to_string(threads), "--rows", std::to_string(rows)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^[.#]+$"), picture(rows)) << result.text();
    EXPECT_TRUE(result.has_line("ok    same picture by hand, by a barrier that sleeps: true")) << result.text();
    EXPECT_TRUE(result.has_line("ok    same picture by hand, by a barrier that looks first: true")) << result.text();

    const auto sum = result.captures("^ok    sum of 1 to the number of threads: (\\d+)$");
    ASSERT_EQ(sum.size(), 1U) << result.text();
    EXPECT_EQ(std::stol(sum[0]), threads * (threads + 1L) / 2);
    const auto in_phases = result.captures("^ok    threads in each phase, when one leaves after each: \\[(.*)\\]$");
    ASSERT_EQ(in_phases.size(), 1U) << result.text();
    EXPECT_EQ(in_phases[0], countdown(threads));
  }
}

TEST(latch_and_barrier, a_thread_that_just_returns_leaves_the_others_waiting_until_ctrl_c) {
  const auto result = run("latch_and_barrier_early", {}, {.interrupt_after_ms = 1000});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.out, std::vector<std::string>{"phase 1 is over"}) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(latch_and_barrier, costs_of_every_kind_are_shown_only_if_all_checks_hold) {
  const auto result = run("latch_and_barrier");
  const std::string cost = " +([0-9.]+) us +[0-9.]+ us +[0-9.]+ us";
  for (const std::string name :
       {"^std::barrier", "^a std::latch for each phase", "^by hand, sleeps: .*", "^by hand, looks first, .*"}) {
    const auto costs = result.captures(name + cost);
    ASSERT_EQ(costs.size(), 2U) << name << '\n' << result.text();
    for (const std::string& median : costs) EXPECT_GT(std::stod(median), 0);
  }
  EXPECT_EQ(result.captures("^a cache line there and back" + cost).size(), 1U) << result.text();

  const auto spoiled = run("latch_and_barrier", {}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(spoiled.exit_code, 1);
  EXPECT_TRUE(spoiled.lines_with(" us").empty()) << spoiled.text();
}

}  // namespace
