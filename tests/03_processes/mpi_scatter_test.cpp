// Scatter: the program seen from outside. Catalogue: 3.19, 3.20, 3.C9.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

/// Runs `ranks` ranks with a list of `items` numbers at `root`.
Result scatter(int ranks, int items, int root) {
  return run_ranks(ranks, "mpi_scatter", {"--items", std::to_string(items), "--root", std::to_string(root)});
}

TEST(mpi_scatter, number_i_goes_to_rank_i_whoever_is_the_root) {
  const std::vector<std::pair<int, int>> cases = {{10, 3}, {3, 0}, {1, 0}};
  for (const auto& [ranks, root] : cases) {
    const auto result = scatter(ranks, ranks, root);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> expected;
    std::string list;
    for (int i = 0; i < ranks; ++i) {
      const std::string number = std::to_string(i + 1);
      expected.push_back("rank " + std::to_string(i) + " has " + number);
      list += (i > 0 ? ", " : "") + number;
    }
    EXPECT_THAT(result.lines_with("^rank \\d+ has \\d+$"), testing::ElementsAreArray(expected)) << result.text();
    EXPECT_TRUE(result.has_line("ok    the numbers of all ranks: [" + list + "]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    sum of the numbers in all shares: 55")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the shares, put together again, are the list: yes")) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
    if (ranks >= 3) {
      EXPECT_THAT(result.lines_with("share \\["),
                  testing::ElementsAre("rank 0 has the share [1, 2, 3, 4]", "rank 1 has the share [5, 6, 7]",
                                       "rank 2 has the share [8, 9, 10]"));
    }
  }
}

TEST(mpi_scatter, two_ranks_share_the_ten_numbers_alone) {
  const auto result = scatter(2, 2, 1);
  EXPECT_THAT(result.lines_with("share \\["),
              testing::ElementsAre("rank 0 has the share [1, 2, 3, 4, 5]", "rank 1 has the share [6, 7, 8, 9, 10]"));
}

TEST(mpi_scatter, a_wrong_length_ends_every_rank_with_a_message_and_nobody_gets_a_number) {
  const std::vector<std::vector<int>> cases = {{3, 10, 0}, {3, 2, 2}, {2, 0, 0}};
  for (const std::vector<int>& one : cases) {
    const int ranks = one[0], items = one[1];
    const auto result = scatter(ranks, items, one[2]);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
    std::vector<std::string> expected;
    for (int i = 0; i < ranks; ++i) {
      expected.push_back("mpi_scatter: rank " + std::to_string(i) + ": expecting " + std::to_string(ranks) +
                         " items, got " + std::to_string(items));
    }
    EXPECT_THAT(result.err, testing::UnorderedElementsAreArray(expected)) << result.text();
  }
}

TEST(mpi_scatter, a_root_that_does_not_exist_is_refused) {
  const auto result = scatter(2, 2, 2);
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_scatter: --root 2: there are only 2 ranks"));
}

}  // namespace
