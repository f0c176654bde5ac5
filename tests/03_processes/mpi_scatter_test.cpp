// Scatter: the program seen from outside, and its two functions with lists that no rank can guess.

#define main main_of_the_program  // its functions are called from inside, too
#include "03_processes/mpi_scatter/mpi_scatter.cpp"
#undef main

#include <regex>
#include <string>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "support/run.hpp"

namespace {

using test_support::run_ranks;

std::string list_of(int first, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i > 0 ? ", " : "") + std::to_string(first + i);
  return "[" + list + "]";
}

/// What the program prints if `ranks` ranks share out `total` numbers; white space between columns is one blank.
std::vector<std::string> rows_of(int ranks, int total) {
  std::vector<std::string> rows;
  int start = 0;
  for (int i = 0; i < ranks; ++i) {
    const int equal = total / ranks, count = equal + (i < total % ranks);
    rows.push_back("rank " + std::to_string(i) + " " + list_of(equal * i + 1, equal) + " " + list_of(start + 1, count));
    start += count;
  }
  const int equal = total / ranks * ranks;
  rows.push_back("nobody " + list_of(equal + 1, total % ranks) + " []");
  return rows;
}

TEST(mpi_scatter, each_rank_gets_its_equal_share_and_its_share_of_all) {
  struct Case {
    int ranks, root, total;
  };
  for (const auto& [ranks, root, total] :
       {Case{10, 3, 23}, Case{3, 0, 10}, Case{1, 0, 5}, Case{5, 4, 3}, Case{4, 1, 0}, Case{4, 2, 8}, Case{2, 0, 40}}) {
    const auto result =
        run_ranks(ranks, "mpi_scatter", {"--root", std::to_string(root), "--numbers", std::to_string(total)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> rows;
    for (const std::string& line : result.lines_with("^(rank|nobody) ")) {
      rows.push_back(std::regex_replace(line, std::regex(" +"), " "));
    }
    EXPECT_EQ(rows, rows_of(ranks, total)) << result.text();
    EXPECT_EQ(
        result.lines_with("^" + std::to_string(total) + " numbers +MPI_Scatter, equal shares +MPI_Scatterv$").size(),
        1U)
        << result.text();
    EXPECT_TRUE(result.has_line("ok    the list, put together again from the shares of MPI_Scatterv: yes"))
        << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

/// This test starts itself again as three ranks, of which the second one has a list.
TEST(mpi_scatter_functions, deal_out_what_the_root_alone_has) {
  if (again_as_ranks(3, "mpi_scatter_test")) return;
  const mpi::Environment world(3);
  const std::vector<int> list = world.rank() == 1 ? std::vector{70, 10, 90, 40, 20} : std::vector<int>();
  const std::vector<int> equal[] = {{70}, {10}, {90}}, all[] = {{70, 10}, {90, 40}, {20}};
  EXPECT_EQ(scatter_equal_shares(list, 5, 1, 3), equal[world.rank()]);
  EXPECT_EQ(scatter_all(list, shares_of(5, 3), 1, world.rank()), all[world.rank()]);
}

TEST(mpi_scatter, a_root_that_does_not_exist_is_refused) {
  const auto result = run_ranks(2, "mpi_scatter", {"--root", "2"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_scatter: --root 2: there are only 2 ranks"));
}

}  // namespace
