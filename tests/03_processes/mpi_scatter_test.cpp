// Scatter: the program seen from outside. Catalogue: 3.19, 3.20, 3.C9.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

/// Runs `ranks` ranks with a list of `items` numbers at `root`.
Result scatter(int ranks, int items, int root = 0, const std::string& up_to = "8") {
  return run_ranks(ranks, "mpi_scatter",
                   {"--items", std::to_string(items), "--root", std::to_string(root), "--up-to", up_to});
}

TEST(mpi_scatter, number_i_goes_to_rank_i_whoever_is_the_root) {
  const std::vector<std::pair<int, int>> cases = {{10, 0}, {10, 3}, {5, 4}, {3, 0}, {1, 0}};
  for (const auto& [ranks, root] : cases) {
    const auto result = scatter(ranks, ranks, root);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> expected;
    std::string list;
    for (int i = 0; i < ranks; ++i) {
      const std::string number = std::to_string(i + 1);
      expected.push_back("process = " + std::to_string(i) + " recvbuf = " + number);
      list += (i > 0 ? ", " : "") + number;
    }
    EXPECT_THAT(result.lines_with("recvbuf"), testing::ElementsAreArray(expected)) << result.text();
    EXPECT_TRUE(result.has_line("ok    gathered again: [" + list + "]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    number i is at rank i, by MPI_Scatter: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the same one by one, all at once and by a tree: yes")) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_scatter, ten_numbers_for_three_ranks_are_four_three_and_three) {
  for (const int ranks : {3, 7}) {
    const auto result = scatter(ranks, ranks, ranks - 1);
    EXPECT_THAT(result.lines_with("share = "),
                testing::ElementsAre("process = 0 share = [1, 2, 3, 4]", "process = 1 share = [5, 6, 7]",
                                     "process = 2 share = [8, 9, 10]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    MPI_Gatherv gives the list back to the root: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    MPI_Allgatherv gives it to all: yes")) << result.text();
  }
}

TEST(mpi_scatter, a_wrong_count_ends_every_rank_with_a_message_and_nobody_gets_a_piece) {
  const std::vector<std::vector<int>> cases = {{3, 10, 0}, {3, 2, 0}, {3, 10, 2}, {10, 9, 0}, {10, 11, 5}, {2, 0, 0}};
  for (const std::vector<int>& one : cases) {
    const int ranks = one[0], items = one[1];
    const auto result = scatter(ranks, items, one[2]);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    EXPECT_EQ(result.left_behind, 0);
    std::vector<std::string> expected;
    for (int i = 0; i < ranks; ++i) {
      expected.push_back("mpi_scatter: rank " + std::to_string(i) + ": expecting " + std::to_string(ranks) +
                         " items, got " + std::to_string(items));
    }
    EXPECT_THAT(result.err, testing::UnorderedElementsAreArray(expected)) << result.text();
  }
}

TEST(mpi_scatter, the_list_of_ten_needs_ten_ranks) {
  EXPECT_EQ(run_ranks(10, "mpi_scatter", {"--up-to", "8"}).exit_code, 0);
  EXPECT_EQ(run_ranks(3, "mpi_scatter").exit_code, 2);
}

TEST(mpi_scatter, a_root_that_does_not_exist_is_rejected) {
  const auto result = scatter(4, 4, 4);
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_scatter: no rank 4 among 4"));
}

TEST(mpi_scatter, every_form_is_measured_at_every_size) {
  const auto result = scatter(3, 3, 0, "1048576");
  for (const std::string form : {"MPI_Scatter", "one by one", "all at once", "tree"}) {
    EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), " + form + " +[\\d.]+ us"),
                testing::ElementsAre("8 B", "1 KiB", "64 KiB", "1 MiB"))
        << result.text();
  }
}

TEST(mpi_scatter, the_pitfall_hangs_after_the_roots_message_and_ends_at_an_interrupt) {
  Result result;
  for (const int ms : {1000, 5000, 20000}) {  // on a busy machine the root's message may come late
    result = run_ranks(10, "mpi_scatter_root_only", {}, {.interrupt_after_ms = ms});
    if (!result.out.empty()) break;
  }
  EXPECT_THAT(result.out, testing::ElementsAre("expecting 10 items, got 7")) << result.text();
  EXPECT_FALSE(result.timed_out) << result.text();
  EXPECT_NE(result.exit_code, 0) << result.text();
  EXPECT_NE(result.exit_code, 2) << result.text();  // the root's exit code never came
  EXPECT_EQ(result.left_behind, 0) << result.text();
}

}  // namespace
