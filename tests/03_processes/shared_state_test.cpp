// A shared dictionary: the program seen from outside. Catalogue: 3.11.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(shared_state, ten_workers_write_and_the_results_are_in_order_of_the_keys) {
  const auto result = run("shared_state", {"--operations", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.text();

  auto lines = result.captures("^(key = \\d+ value = \\d+)$");
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    expected.push_back("key = " + std::to_string(i) + " value = " + std::to_string(2 * i));
  }
  EXPECT_EQ(lines, expected);

  const std::string pairs = "Results: {0: 0, 1: 2, 2: 4, 3: 6, 4: 8, 5: 10, 6: 12, 7: 14, 8: 16, 9: 18}";
  EXPECT_EQ(result.lines_with("^Results"), std::vector<std::string>(2, pairs));
  EXPECT_EQ(result.lines_with(" sum of the values: 90$").size(), 2U);

  // The map of the manager is in the manager alone.
  EXPECT_TRUE(result.has_line("ok    manager: workers that find the map in its process: 10")) << result.text();
  EXPECT_TRUE(result.has_line("ok    manager: pieces of memory that it shares and may write: 0")) << result.text();

  // A value that was fetched is a copy; a change inside the map is seen by all.
  EXPECT_TRUE(result.has_line("ok    manager: a value changed after get; before and after set: [6, 106]"));
  EXPECT_TRUE(result.has_line("ok    shared memory: a value that another process has changed in place: 106"));

  EXPECT_TRUE(result.has_line("ok    manager: its exit code: 0")) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(shared_state, get_and_set_lose_changes_and_add_loses_none) {
  for (const int workers : {1, 2, 64}) {
    const auto result =
        run("shared_state", {"--workers", std::to_string(workers), "--changes", "20", "--operations", "4"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.captures("^key = (\\d+) value").size(), static_cast<std::size_t>(workers));
    const std::string sum = std::to_string(workers * (workers - 1));
    EXPECT_EQ(result.captures(" sum of the values: (\\d+)$"), std::vector(2, sum)) << result.text();

    // The order is forced, so this one loses a change in every run.
    EXPECT_EQ(result.captures("2 changes by get and set, one between the two steps of the other: (\\d+)$"),
              std::vector<std::string>(2, "1"));
    for (const auto& [form, changes] : {std::pair{"manager", 20 * workers}, {"shared memory", 2000 * workers}}) {
      const std::string start = std::string("^ok    ") + form + ": " + std::to_string(changes) + " changes by ";
      EXPECT_EQ(result.captures(start + "add: (\\d+)$"), std::vector{std::to_string(changes)}) << result.text();
      const auto kept = result.captures(start + "get and set: (\\d+)$");
      ASSERT_EQ(kept.size(), 1U) << result.text();
      if (workers == 1) {
        EXPECT_EQ(kept[0], std::to_string(changes));
      }
      EXPECT_LE(std::stoi(kept[0]), changes);
    }
  }
}

TEST(shared_state, ctrl_c_leaves_nothing_behind) {
  const auto result = run("shared_state", {"--changes", "10000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(shared_state, manager_and_workers_end_when_the_program_is_killed) {
  const auto result = run("shared_state", {"--changes", "1", "--operations", "100000"}, {.kill_after_ms = 400});
  EXPECT_EQ(result.exit_code, -9) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
