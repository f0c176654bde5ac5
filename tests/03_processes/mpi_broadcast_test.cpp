// Broadcast: the program seen from outside. Catalogue: 3.C8, 3.18.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// What `ranks` ranks print after a broadcast from `root`.
std::vector<std::string> shared_lines(int ranks, int root) {
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("process = " + std::to_string(i) + " variable shared = 100, was " + (i == root ? "100" : "none"));
  }
  return lines;
}

/// The value of the check `what`.
std::string checked(const Result& result, const std::string& what) {
  const auto values = result.captures("^ok    " + what + ": (.*)$");
  return values.size() == 1 ? values[0] : "none";
}

TEST(mpi_broadcast, all_have_the_roots_value_for_any_root_and_rank_count) {
  const std::vector<std::pair<int, int>> cases = {{10, 0}, {10, 7}, {9, 8}, {4, 1}, {1, 0}};
  for (const auto& [ranks, root] : cases) {
    const auto result = run_ranks(ranks, "mpi_broadcast", {"--root", std::to_string(root), "--up-to", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("^process = "), testing::ElementsAreArray(shared_lines(ranks, root)));

    int min_rounds = 0;
    while (1 << min_rounds < ranks) ++min_rounds;
    for (const std::string form : {"one by one", "all at once", "binary tree", "binomial tree"}) {
      EXPECT_EQ(checked(result, form + ": messages"), std::to_string(ranks - 1)) << result.text();
      EXPECT_EQ(checked(result, form + ": two broadcasts in a row reached all"), "yes") << result.text();
    }
    EXPECT_EQ(checked(result, "one by one: rounds"), std::to_string(ranks - 1)) << result.text();
    EXPECT_EQ(checked(result, "binomial tree: rounds"), std::to_string(min_rounds)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_broadcast, a_tree_that_always_branches_in_two_takes_more_rounds_than_doubling) {
  const auto result = run_ranks(7, "mpi_broadcast", {"--up-to", "8"});  // 0 -> 1, 2 -> 3, 4, 5, 6
  EXPECT_EQ(checked(result, "binary tree: rounds"), "4") << result.text();
  EXPECT_EQ(checked(result, "binomial tree: rounds"), "3") << result.text();
}

TEST(mpi_broadcast, every_form_is_measured_at_every_size) {
  const auto result = run_ranks(3, "mpi_broadcast");
  for (const std::string form : {"MPI_Bcast", "one by one", "all at once", "binomial tree"}) {
    EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), " + form + " +[\\d.]+ us"),
                testing::ElementsAre("8 B", "1 KiB", "64 KiB", "1 MiB", "16 MiB"))
        << result.text();
  }
  EXPECT_EQ(result.lines_with("^MPI_Barrier alone +[\\d.]+ us").size(), 1U) << result.text();
}

TEST(mpi_broadcast, ranks_that_name_different_roots_all_end_with_a_message) {
  for (const std::string odd_one : {"1", "5", "9"}) {
    const auto result = run_ranks(10, "mpi_broadcast", {"--odd-one", odd_one}, {.limit = std::chrono::seconds(20)});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    EXPECT_THAT(result.err,
                testing::ElementsAre("mpi_broadcast: the ranks name different roots, from 0 to " + odd_one));
    EXPECT_EQ(result.left_behind, 0);
  }
}

TEST(mpi_broadcast, a_root_that_does_not_exist_is_rejected) {
  const auto result = run_ranks(4, "mpi_broadcast", {"--root", "4"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_broadcast: no rank 4 among 4"));
}

TEST(mpi_broadcast, a_failed_check_hides_the_figures) {
  const auto result = run_ranks(4, "mpi_broadcast", {"--up-to", "8"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.lines_with(" us").empty()) << result.text();
}

TEST(mpi_broadcast, two_roots_are_accepted_in_silence_by_the_pitfall) {
  const auto result = run_ranks(10, "mpi_broadcast_two_roots");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("process = 5 first 105 second 205")) << result.text();
  EXPECT_TRUE(result.has_line("process = 4 first 100 second 105")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
