// Gather: the program seen from outside. Catalogue: 3.21, 3.C9.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

/// What the root prints, and its list as a check shows it, when each rank has the square of its rank + 1, but the rank
/// `odd_one` has 99.
struct Expected {
  Expected(int ranks, int root, int odd_one = -1) {
    lines.push_back("rank = " + std::to_string(root) + " ...receiving data from the other processes");
    for (int i = 0; i < ranks; ++i) {
      const std::string number = std::to_string(i == odd_one ? 99 : (i + 1) * (i + 1));
      list += (i > 0 ? ", " : "") + number;
      if (i == root) continue;
      lines.push_back("process " + std::to_string(root) + " receiving " + number + " from process " +
                      std::to_string(i));
    }
  }
  std::vector<std::string> lines;
  std::string list;
};

TEST(mpi_gather, the_root_has_the_squares_in_order_for_any_root_and_rank_count) {
  const std::vector<std::pair<int, int>> cases = {{5, 0}, {5, 4}, {9, 2}, {2, 1}, {1, 0}};
  for (const auto& [ranks, root] : cases) {
    const auto result = run_ranks(ranks, "mpi_gather", {"--root", std::to_string(root), "--up-to", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const Expected expected(ranks, root);
    EXPECT_THAT(result.lines_with("receiving"), testing::ElementsAreArray(expected.lines)) << result.text();
    EXPECT_TRUE(result.has_line("ok    gathered on the root: [" + expected.list + "]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the other ranks have received nothing: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    MPI_Scatter brings each number back: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    MPI_Allgather gives the list to all: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the same by messages: one by one, all at once, round a ring: yes"));
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_gather, what_is_printed_is_what_was_received) {
  for (const int odd_one : {1, 3}) {
    const auto result =
        run_ranks(5, "mpi_gather", {"--odd-one", std::to_string(odd_one), "--value", "99", "--up-to", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("receiving"), testing::ElementsAreArray(Expected(5, 0, odd_one).lines));
  }
}

TEST(mpi_gather, lists_of_different_lengths_stand_one_after_another) {
  const std::string five = "1, 2, 2, 3, 3, 3, 4, 4, 4, 4";
  for (const std::string root : {"0", "2"}) {
    const auto result = run_ranks(5, "mpi_gather", {"--root", root, "--up-to", "8"});
    EXPECT_TRUE(result.has_line("ok    MPI_Gatherv of lists: [" + five + "]")) << result.text();
  }
}

TEST(mpi_gather, every_form_is_measured_at_every_size) {
  const auto result = run_ranks(3, "mpi_gather");
  for (const std::string form :
       {"MPI_Gather", "one by one", "all at once", "MPI_Allgather", "gather, broadcast", "ring"}) {
    EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), " + form + " +[\\d.]+ us"),
                testing::ElementsAre("8 B", "1 KiB", "64 KiB", "1 MiB"))
        << result.text();
  }
}

TEST(mpi_gather, ranks_that_do_not_exist_are_rejected) {
  for (const std::string option : {"--root", "--odd-one"}) {
    const auto result = run_ranks(4, "mpi_gather", {option, "4"});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre("mpi_gather: no rank 4 among 4"));
    EXPECT_EQ(result.left_behind, 0);
  }
}

TEST(mpi_gather, a_failed_check_hides_the_figures) {
  const auto result = run_ranks(4, "mpi_gather", {"--up-to", "8"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.lines_with(" us").empty()) << result.text();
}

TEST(mpi_gather, the_pitfall_leaves_gaps) {
  const auto result = run_ranks(5, "mpi_gather_total");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out, testing::ElementsAre("gathered: [1, -1, -1, -1, -1]")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
