// All-to-all: the program seen from outside. Catalogue: 3.22, 3.C9.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

/// Number k of the piece that rank `from` sends to rank `to`.
int number(int from, int to, int k) { return (from + 1) * to + 1000 * k; }

/// What `ranks` ranks print after exchanging blocks of `block` numbers.
std::vector<std::string> exchange_lines(int ranks, int block) {
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    std::string sent, received;
    for (int other = 0; other < ranks; ++other) {
      for (int k = 0; k < block; ++k) {
        sent += (sent.empty() ? "" : ", ") + std::to_string(number(i, other, k));
        received += (received.empty() ? "" : ", ") + std::to_string(number(other, i, k));
      }
    }
    lines.push_back("process " + std::to_string(i) + " sending [" + sent + "] receiving [" + received + "]");
  }
  return lines;
}

/// The sum of all numbers that are sent.
int sum_of_all(int ranks, int block) {
  int sum = 0;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      for (int k = 0; k < block; ++k) sum += number(from, to, k);
    }
  }
  return sum;
}

TEST(mpi_alltoall, five_ranks_exchange_the_table_of_the_book) {
  const auto result = run_ranks(5, "mpi_alltoall", {"--rows", "20", "--up-to", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.lines_with("^process"),
              testing::ElementsAre("process 0 sending [0, 1, 2, 3, 4] receiving [0, 0, 0, 0, 0]",
                                   "process 1 sending [0, 2, 4, 6, 8] receiving [1, 2, 3, 4, 5]",
                                   "process 2 sending [0, 3, 6, 9, 12] receiving [2, 4, 6, 8, 10]",
                                   "process 3 sending [0, 4, 8, 12, 16] receiving [3, 6, 9, 12, 15]",
                                   "process 4 sending [0, 5, 10, 15, 20] receiving [4, 8, 12, 16, 20]"));
  EXPECT_TRUE(result.has_line("ok    sum of all numbers, received as sent: 150")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(mpi_alltoall, received_is_sent_transposed_for_any_rank_count_and_block) {
  const std::vector<std::pair<int, int>> cases = {{1, 1}, {2, 3}, {4, 2}, {9, 1}};
  for (const auto& [ranks, block] : cases) {
    const auto result =
        run_ranks(ranks, "mpi_alltoall", {"--block", std::to_string(block), "--rows", "20", "--up-to", "8"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("^process"), testing::ElementsAreArray(exchange_lines(ranks, block)));
    EXPECT_TRUE(result.has_line("ok    messages in pairs: " + std::to_string(ranks * (ranks - 1)))) << result.text();
    EXPECT_TRUE(result.has_line("ok    a second exchange brings all back: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the same by messages, in pairs and all at once: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    MPI_Alltoallv: pieces of different lengths: yes")) << result.text();
    EXPECT_TRUE(
        result.has_line("ok    sum of all numbers, received as sent: " + std::to_string(sum_of_all(ranks, block))))
        << result.text();
  }
}

TEST(mpi_alltoall, matrices_of_any_size_are_transposed) {
  for (const int rows : {1, 17, 64}) {  // 17: neither a multiple nor a part of the tile of 16
    const auto result = run_ranks(3, "mpi_alltoall", {"--rows", std::to_string(rows), "--up-to", "8"});
    const std::string n = std::to_string(3 * rows);
    EXPECT_TRUE(result.has_line("ok    a matrix of " + n + " x " + n + " transposed, packed and by types: yes"))
        << result.text();
    EXPECT_EQ(result.lines_with("^(packed|types), MPI_Alltoallw? +[\\d.]+ GB/s").size(), 2U) << result.text();
  }
}

TEST(mpi_alltoall, every_form_is_measured_at_every_size) {
  const auto result = run_ranks(3, "mpi_alltoall", {"--rows", "20"});
  for (const std::string form : {"MPI_Alltoall", "in pairs", "all at once"}) {
    EXPECT_THAT(
        result.captures("^ *(\\d+ [KM]?i?B for \\w+), " + form + " +[\\d.]+ us"),
        testing::ElementsAre("8 B for one", "1 KiB for one", "64 KiB for one", "1 MiB for one", "16 MiB for all"))
        << result.text();
  }
}

TEST(mpi_alltoall, a_failed_check_hides_the_figures) {
  const auto result =
      run_ranks(3, "mpi_alltoall", {"--rows", "20", "--up-to", "8"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.lines_with("GB/s| us").empty()) << result.text();
}

TEST(mpi_alltoall, one_buffer_spoils_the_data_in_silence) {
  const auto result = run_ranks(5, "mpi_alltoall_same_buffer");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out, testing::ElementsAre("MPI_IN_PLACE: right", "one buffer: wrong")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
