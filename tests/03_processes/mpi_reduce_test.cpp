// Reduce: the program seen from outside. Catalogue: 3.C10, 3.23.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

/// `factor` * [0, 1, 2, ...], as the program prints it.
std::string multiples(int factor, int length) {
  std::string text;
  for (int i = 0; i < length; ++i) text += (i > 0 ? ", " : "") + std::to_string(factor * i);
  return "[" + text + "]";
}

/// What `ranks` ranks print about the sum of their arrays.
std::vector<std::string> lines_about_the_sum(int ranks, int length, int root) {
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("process " + std::to_string(i) + " sending " + multiples(i + 1, length));
  }
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("on task " + std::to_string(i) +
                    " after Reduce: data = " + multiples(i == root ? ranks * (ranks + 1) / 2 : 0, length));
  }
  return lines;
}

/// The value of the check `what`.
std::string checked(const Result& result, const std::string& what) {
  for (const std::string& line : result.out) {
    if (line.starts_with("ok    " + what + ": ")) return line.substr(what.size() + 8);
  }
  return "none";
}

TEST(mpi_reduce, the_root_alone_has_the_sum_for_any_rank_count_length_and_root) {
  const std::vector<std::vector<int>> cases = {{3, 3, 0}, {3, 5, 2}, {1, 3, 0}, {2, 3, 1}, {5, 3, 0}, {8, 4, 3}};
  for (const std::vector<int>& one : cases) {
    const int ranks = one[0], length = one[1], root = one[2];
    const auto result = run_ranks(ranks, "mpi_reduce",
                                  {"--length", std::to_string(length), "--root", std::to_string(root), "--up-to", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("sending|after Reduce"),
                testing::ElementsAreArray(lines_about_the_sum(ranks, length, root)))
        << result.text();
    EXPECT_EQ(checked(result, "what was sent is unchanged"), "yes");
    EXPECT_EQ(checked(result, "how often the ring sends a number"), std::to_string(2 * (ranks - 1))) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_reduce, every_operator_gives_what_a_loop_gives) {
  // Ranks 0 to 4 have 0, 3, 1, 4, 2, and 1 to 5.
  const auto result = run_ranks(5, "mpi_reduce", {"--up-to", "8"});
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"MPI_MAX", "[4, 5]"},  {"MPI_MIN", "[0, 1]"},  {"MPI_SUM", "[10, 15]"}, {"MPI_PROD", "[0, 120]"},
      {"MPI_LAND", "[0, 1]"}, {"MPI_LOR", "[1, 1]"},  {"MPI_LXOR", "[0, 1]"},  {"MPI_BAND", "[0, 0]"},
      {"MPI_BOR", "[7, 7]"},  {"MPI_BXOR", "[4, 1]"},
  };
  for (const auto& [op, value] : expected) EXPECT_EQ(checked(result, op), value) << op << result.text();
}

TEST(mpi_reduce, of_several_extremes_the_lowest_rank_counts) {
  const auto result = run_ranks(5, "mpi_reduce", {"--up-to", "8"});  // 0, 3, 1, 4, 2 and 0, 1, 0, 1, 0
  EXPECT_EQ(checked(result, "MPI_MAXLOC of 3 * rank % 5: value and rank"), "[4, 3]") << result.text();
  EXPECT_EQ(checked(result, "MPI_MINLOC of 3 * rank % 5: value and rank"), "[0, 0]") << result.text();
  EXPECT_EQ(checked(result, "MPI_MAXLOC of rank % 2: value and rank"), "[1, 1]") << result.text();
  EXPECT_EQ(checked(result, "MPI_MINLOC of rank % 2: value and rank"), "[0, 0]") << result.text();
}

TEST(mpi_reduce, an_own_operator_keeps_the_order_of_the_ranks_at_any_root) {
  const std::string what = "1 + 1 / (2 + 1 / (3 + ...)) by matrices";
  EXPECT_EQ(checked(run_ranks(2, "mpi_reduce", {"--up-to", "8"}), what), "3 / 2");
  for (const std::string root : {"0", "1", "3"}) {
    EXPECT_EQ(checked(run_ranks(4, "mpi_reduce", {"--root", root, "--up-to", "8"}), what), "43 / 30") << root;
  }
}

TEST(mpi_reduce, arrays_of_different_lengths_end_all_ranks_with_a_message) {
  for (const std::string odd_one : {"0", "2"}) {
    const auto result = run_ranks(3, "mpi_reduce", {"--odd-one", odd_one});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre("mpi_reduce: the arrays differ in length, from 3 to 4"));
    EXPECT_EQ(result.left_behind, 0);
  }
}

TEST(mpi_reduce, a_root_that_does_not_exist_is_rejected) {
  const auto result = run_ranks(3, "mpi_reduce", {"--root", "3"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_reduce: no rank 3 among 3"));
}

TEST(mpi_reduce, every_form_is_measured_at_every_size) {
  const auto result = run_ranks(3, "mpi_reduce");
  for (const std::string form : {"MPI_Allreduce", "reduce, broadcast", "ring"}) {
    EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), " + form + " +[\\d.]+ us"),
                testing::ElementsAre("8 B", "1 KiB", "64 KiB", "1 MiB", "16 MiB"))
        << result.text();
  }
}

TEST(mpi_reduce, the_pitfall_is_right_with_one_matrix_and_wrong_with_many) {
  const auto result = run_ranks(3, "mpi_reduce_commutative");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("of 1 matrices, wrong: 0")) << result.text();
  EXPECT_EQ(result.lines_with("^of 1000 matrices, wrong: [1-9]").size(), 1U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
