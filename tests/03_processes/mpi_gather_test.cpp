// Gather: the program seen from outside.

#include "support/run.hpp"

namespace {

using test_support::run_ranks;

std::string text(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return "[" + list + "]";
}

/// What the program prints when each rank has the square of (rank + 1), but the rank `odd_one` has 99.
std::vector<std::string> lines_of(int ranks, int root, int odd_one) {
  std::vector<int> numbers, lists;
  for (int i = 0; i < ranks; ++i) {
    numbers.push_back(i == odd_one ? 99 : (i + 1) * (i + 1));
    lists.insert(lists.end(), i, i);
  }
  const std::vector<int> nothing(ranks, -1);
  std::vector<int> as_sent = {numbers[root]};  // the root's own, and then from the highest rank on
  for (int i = ranks - 1; i >= 0; --i) {
    if (i != root) as_sent.push_back(numbers[i]);
  }
  const std::string on_root = "rank " + std::to_string(root) + " after ",
                    on_other = "rank " + std::to_string((root + 1) % ranks) + " after ";
  std::vector<std::string> lines = {on_root + "MPI_Recv from any rank " + text(as_sent),
                                    on_root + "MPI_Gather             " + text(numbers)};
  if (ranks > 1) {
    lines.push_back(on_other + "MPI_Gather             " + text(nothing));
    lines.push_back(on_other + "MPI_Allgather          " + text(numbers));
  }
  lines.push_back(on_root + "MPI_Gatherv            " + text(lists));
  const std::string all = std::to_string(ranks);
  lines.push_back("ok    ranks that are right after MPI_Gather, MPI_Allgather, MPI_Gatherv: [" + all + ", " + all +
                  ", " + all + "]");
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
    EXPECT_EQ(result.out, lines_of(ranks, root, odd_one)) << result.text();
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
