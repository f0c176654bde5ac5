// What the ranks exchange, for several numbers of ranks and lengths of the pieces, and the matrices of the bench.

#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run_ranks;

/// Number k of the piece that rank `from` sends to rank `to`.
int number(int from, int to, int k) { return (from + 1) * to + 1000 * k; }

/// What `ranks` ranks have to print after exchanging pieces of `length` numbers.
std::vector<std::string> expected_lines(int ranks, int length) {
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    std::string sent, received;
    for (int other = 0; other < ranks; ++other) {
      for (int k = 0; k < length; ++k) {
        sent += (sent.empty() ? "" : ", ") + std::to_string(number(i, other, k));
        received += (received.empty() ? "" : ", ") + std::to_string(number(other, i, k));
      }
    }
    lines.push_back("rank " + std::to_string(i) + " sends [" + sent + "], receives [" + received + "]");
  }
  const std::string all = std::to_string(ranks);
  lines.push_back("ok    ranks that received their row of the transposed matrix: " + all);
  lines.push_back("ok    ranks that received this row by messages in steps: " + all);
  lines.push_back("ok    messages in all steps: " + std::to_string(ranks * (ranks - 1)));
  lines.push_back("ok    ranks that have their old row again after a second all-to-all: " + all);
  return lines;
}

TEST(mpi_alltoall, what_is_received_is_the_transpose_for_any_number_of_ranks_and_length) {
  struct Case {
    int ranks, length;
  };
  for (const auto& [ranks, length] : {Case{1, 1}, Case{2, 3}, Case{4, 2}, Case{9, 1}}) {
    const auto result = run_ranks(ranks, "mpi_alltoall", {"--length", std::to_string(length)});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out, expected_lines(ranks, length)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_alltoall, the_bench_transposes_matrices_whose_rows_do_not_fill_its_blocks) {
  for (const std::string rows : {"1", "17"}) {  // the bench packs 16 rows at a time
    const auto result = run_ranks(3, "mpi_alltoall_bench", {"--rows", rows, "--up-to", "1024"});
    const std::string n = std::to_string(3 * std::stoi(rows));
    EXPECT_TRUE(result.has_line("ok    a matrix of " + n + " x " + n + " is transposed in both ways: yes"))
        << result.text();
    EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), in steps"), testing::ElementsAre("8 B", "1 KiB")) << result.text();
  }
}

TEST(mpi_alltoall, the_pitfall_is_wrong_with_one_buffer_and_right_in_place) {
  const auto result = run_ranks(5, "mpi_alltoall_same_buffer");
  EXPECT_THAT(result.out, testing::ElementsAre("MPI_IN_PLACE: right", "one buffer: wrong")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
