// Gather: the program seen from outside.

#include "support/run.hpp"

namespace {

using test_support::run_ranks;

std::string text(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return "[" + list + "]";
}

/// What the program prints when each rank has the square of (rank + 1).
std::vector<std::string> lines_of(int ranks, int root) {
  std::vector<int> numbers, lists;
  for (int i = 0; i < ranks; ++i) {
    numbers.push_back((i + 1) * (i + 1));
    lists.insert(lists.end(), i, i);
  }
  std::vector<int> as_sent = {numbers[root]};  // the root's own, then that of the rank before it, and so on
  for (int i = 1; i < ranks; ++i) as_sent.push_back(numbers[(root - i + ranks) % ranks]);
  const std::vector<int> nothing(ranks, -1);
  const std::string on_root = "rank " + std::to_string(root) + " after ",
                    on_other = "rank " + std::to_string((root + 1) % ranks) + " after ";
  return {on_root + "MPI_Recv from any rank  " + text(as_sent),
          on_root + "MPI_Recv from each rank " + text(numbers),
          on_root + "MPI_Gather              " + text(numbers),
          on_other + "MPI_Gather              " + text(ranks > 1 ? nothing : numbers),
          on_other + "MPI_Allgather           " + text(numbers),
          on_root + "MPI_Gatherv             " + text(lists),
          "ok    ranks that have all numbers after MPI_Gather: 1",
          "ok    ranks that have all numbers after MPI_Allgather: " + std::to_string(ranks),
          "ok    ranks that have all lists after MPI_Gatherv: 1"};
}

TEST(mpi_gather, the_root_has_what_was_sent_in_order_for_any_root_and_rank_count) {
  struct Case {
    int ranks, root;
  };
  for (const auto& [ranks, root] : {Case{5, 0}, Case{5, 4}, Case{9, 2}, Case{1, 0}}) {
    const auto result = run_ranks(ranks, "mpi_gather", {"--root", std::to_string(root)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out, lines_of(ranks, root)) << result.text();
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
  EXPECT_THAT(result.out, testing::ElementsAre(testing::StartsWith("gathered: [1, -1, -1, -1, -1, 4, -1")))
      << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
