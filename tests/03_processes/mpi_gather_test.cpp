// Gather: the program seen from outside. Catalogue: 3.21, 3.C9.

#include "support/run.hpp"

namespace {

using test_support::run_ranks;

/// What the program prints when each rank has the square of (rank + 1), but the rank `odd_one` has 99.
std::vector<std::string> lines_of(int ranks, int root, int odd_one) {
  std::vector<std::string> lines;
  std::string lists;
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("rank " + std::to_string(root) + " has " + std::to_string(i == odd_one ? 99 : (i + 1) * (i + 1)) +
                    " from rank " + std::to_string(i));
    for (int times = 0; times < i; ++times) lists += (lists.empty() ? "" : ", ") + std::to_string(i);
  }
  lines.push_back("rank " + std::to_string(root) + " has the lists [" + lists + "]");
  return lines;
}

TEST(mpi_gather, the_root_has_what_was_sent_in_order_for_any_root_and_rank_count) {
  struct Case {
    int ranks, root, odd_one;
  };
  for (const auto& [ranks, root, odd_one] : {Case{5, 0, -1}, Case{5, 4, 3}, Case{9, 2, 2}, Case{1, 0, 0}}) {
    const auto result =
        run_ranks(ranks, "mpi_gather", {"--root", std::to_string(root), "--odd-one", std::to_string(odd_one)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("^rank "), testing::ElementsAreArray(lines_of(ranks, root, odd_one)));
    for (const std::string what :
         {"MPI_Gather: the root has the numbers in the order of the ranks",
          "MPI_Gather: the other ranks have received nothing", "MPI_Allgather: all ranks have the numbers",
          "MPI_Gatherv: the root has the lists one after another"}) {
      EXPECT_TRUE(result.has_line("ok    " + what + ": yes")) << result.text();
    }
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_gather, a_root_that_does_not_exist_is_refused) {
  const auto result = run_ranks(2, "mpi_gather", {"--root", "2"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_gather: --root 2: there are only 2 ranks"));
}

TEST(mpi_gather, the_pitfall_leaves_gaps) {
  const auto result = run_ranks(5, "mpi_gather_total");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out, testing::ElementsAre("gathered: [1, -1, -1, -1, -1]")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
