// What the ranks exchange, for several numbers of ranks and of random numbers, and the matrices of the bench.

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;
using Numbers = std::vector<int>;

/// What the ranks have sent and received in one exchange, as a table shows it: piece j of rank i is sent[i][j].
struct Exchange {
  std::vector<std::vector<Numbers>> sent, received;
};

/// "3 17 | - | 25" as pieces.
std::vector<Numbers> pieces_of(const std::string& text) {
  std::vector<Numbers> pieces(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "|") {
      pieces.emplace_back();
    } else if (word != "-") {
      pieces.back().push_back(std::stoi(word));
    }
  }
  return pieces;
}

/// The exchange whose rows come after the one that begins with `title`; the ranks' lines must be in order.
Exchange exchange_of(const Result& result, const std::string& title) {
  Exchange exchange;
  const std::regex form("rank (\\d+) +(.*?[^ ]) {3,}([^ |].*)");  // within a side no column begins without a bar
  auto line = std::find_if(result.out.begin(), result.out.end(),
                           [&](const std::string& text) { return text.starts_with(title); });
  for (std::smatch match; line != result.out.end() && std::regex_match(*++line, match, form);) {
    EXPECT_EQ(std::stoul(match[1]), exchange.sent.size()) << result.text();
    exchange.sent.push_back(pieces_of(match[2]));
    exchange.received.push_back(pieces_of(match[3]));
  }
  return exchange;
}

TEST(mpi_alltoall, piece_j_of_rank_i_becomes_piece_i_of_rank_j) {
  struct Case {
    int ranks, numbers;
  };
  for (const auto& [ranks, numbers] : {Case{5, 6}, Case{1, 3}, Case{2, 0}, Case{7, 1}, Case{3, 40}}) {
    const auto result = run_ranks(ranks, "mpi_alltoall", {"--numbers", std::to_string(numbers)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
    for (const std::string title : {"lengths, by", "numbers, by"}) {
      const auto [sent, received] = exchange_of(result, title);
      ASSERT_EQ(sent.size(), ranks) << result.text();
      for (int from = 0; from < ranks; ++from) {
        ASSERT_EQ(sent[from].size(), ranks) << result.text();
        for (int to = 0; to < ranks; ++to) {
          ASSERT_EQ(received[to].size(), ranks) << result.text();
          EXPECT_EQ(received[to][from], sent[from][to]) << "from " << from << " to " << to << '\n' << result.text();
        }
      }
    }
  }
}

TEST(mpi_alltoall, the_lengths_are_those_of_the_pieces_that_are_sent_and_of_those_that_come) {
  const auto result = run_ranks(4, "mpi_alltoall", {"--numbers", "9"});
  const Exchange lengths = exchange_of(result, "lengths, by"), numbers = exchange_of(result, "numbers, by");
  ASSERT_EQ(lengths.sent.size(), 4U) << result.text();
  ASSERT_EQ(numbers.sent.size(), 4U) << result.text();
  for (int rank = 0; rank < 4; ++rank) {
    for (int other = 0; other < 4; ++other) {
      const auto length_of = [](const Numbers& piece) { return Numbers{static_cast<int>(piece.size())}; };
      EXPECT_EQ(lengths.sent[rank][other], length_of(numbers.sent[rank][other])) << result.text();
      EXPECT_EQ(lengths.received[rank][other], length_of(numbers.received[rank][other])) << result.text();
    }
  }
}

TEST(mpi_alltoall, each_rank_gets_the_numbers_of_its_range_so_all_can_be_sorted_and_the_lengths_differ) {
  const auto result = run_ranks(5, "mpi_alltoall", {"--numbers", "30"});
  const Exchange exchange = exchange_of(result, "numbers, by");
  ASSERT_EQ(exchange.received.size(), 5U) << result.text();
  Numbers all;
  std::size_t shortest = 1000, longest = 0;
  for (int rank = 0; rank < 5; ++rank) {
    for (const Numbers& piece : exchange.received[rank]) {
      all.insert(all.end(), piece.begin(), piece.end());
      shortest = std::min(shortest, piece.size());
      longest = std::max(longest, piece.size());
      for (const int number : piece) EXPECT_EQ(number / 20, rank) << result.text();
    }
  }
  EXPECT_EQ(all.size(), 150U) << result.text();
  std::sort(all.begin(), all.end());
  const auto by_rank = result.captures("^after each rank has sorted: (.*)");
  ASSERT_EQ(by_rank.size(), 1U) << result.text();
  Numbers in_order;
  for (const Numbers& piece : pieces_of(by_rank[0])) in_order.insert(in_order.end(), piece.begin(), piece.end());
  EXPECT_EQ(in_order, all) << result.text();
  EXPECT_LT(shortest, longest) << result.text();
  EXPECT_TRUE(result.has_line("ok    numbers that are on the rank of their range: 150")) << result.text();
  EXPECT_TRUE(result.has_line("ok    pieces that are as their senders made them: 25")) << result.text();
}

TEST(mpi_alltoall, the_bench_transposes_matrices_whose_rows_do_not_fill_its_blocks) {
  for (const std::string rows : {"1", "17"}) {  // the bench packs 16 rows at a time
    const auto result = run_ranks(3, "mpi_alltoall_bench", {"--rows", rows, "--up-to", "1024"});
    const std::string n = std::to_string(3 * std::stoi(rows));
    EXPECT_TRUE(result.has_line("ok    a matrix of " + n + " x " + n + " is transposed in both ways: yes"))
        << result.text();
    for (const std::string way : {"MPI_Alltoall ", "lengths and MPI_Alltoallv ", "in steps "}) {
      EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), " + way), testing::ElementsAre("8 B", "1 KiB")) << result.text();
    }
  }
}

TEST(mpi_alltoall, the_pitfall_is_wrong_with_one_buffer_and_right_in_place) {
  const auto result = run_ranks(5, "mpi_alltoall_same_buffer");
  EXPECT_THAT(result.out, testing::ElementsAre("MPI_IN_PLACE: right", "same buffer twice: wrong")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
