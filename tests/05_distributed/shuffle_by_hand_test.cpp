// The program's output beside coreutils, and the parts of a shuffle from inside.

#include <malloc.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define main main_of_the_program  // its functions are tested from inside, too
#include "05_distributed/shuffle_by_hand/shuffle_by_hand.cpp"
#undef main

#include <algorithm>
#include <stdexcept>

#include "03_processes/again_as_ranks.hpp"
#include "05_distributed/shuffle_by_hand/word_table.hpp"
#include "word_texts.hpp"

/// Whether the ranks are told that each has 2^30 bytes for each: four of these are no 32-bit number.
bool sizes_are_large = false;

/// Instead of the library's, which PMPI_Alltoall is.
extern "C" int MPI_Alltoall(const void* sent, int sent_count, MPI_Datatype sent_type, void* received,
                            int received_count, MPI_Datatype received_type, MPI_Comm comm) {
  const int result = PMPI_Alltoall(sent, sent_count, sent_type, received, received_count, received_type, comm);
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  for (int r = 0; sizes_are_large && r < ranks; ++r) static_cast<int*>(received)[r] = 1'073'741'824;
  return result;
}

namespace {

using test_support::run_ranks;
using test_support::TemporaryDirectory;
using testing::ElementsAre;

TEST(shuffle_by_hand, the_six_sentences_whatever_the_number_of_ranks) {
  expect_the_six_sentences("shuffle_by_hand", "different words, each on one rank");
}

TEST(shuffle_by_hand, counts_as_coreutils_do_word_by_word) { expect_the_counts_of_coreutils("shuffle_by_hand"); }

TEST(shuffle_by_hand, a_rank_sends_each_of_its_words_once) {
  const TemporaryDirectory folder;
  write(folder.path / "text", one_word_200000_times());
  const auto result = run_ranks(3, "shuffle_by_hand", {"--file", folder.path / "text"});
  EXPECT_THAT(list_of(result), ElementsAre("the 200000"));
  // "the 1" and a line feed, 200,000 times; or "the 66667" three times, whatever the shares.
  EXPECT_THAT(result.captures("^each word is sent +(\\d+ pairs, +\\d+) bytes$"), ElementsAre("200000 pairs,  1200000"))
      << result.text();
  EXPECT_THAT(result.captures("^words are counted first +(\\d+ pairs, +\\d+) bytes$"), ElementsAre("3 pairs,       30"))
      << result.text();
}

TEST(shuffle_by_hand, more_ranks_send_more_pairs_of_the_same_text) {
  for (const auto& [ranks, pairs] : {std::pair{1, "18"}, {4, "72"}, {8, "144"}}) {
    const auto result = run_ranks(ranks, "shuffle_by_hand", {"--copies", "1000"});
    EXPECT_THAT(result.captures("^words are counted first .* (\\d+) pairs, +\\d+ bytes$"), ElementsAre(pairs))
        << result.text();
    EXPECT_THAT(result.captures("^each word is sent .* (\\d+ pairs, +\\d+) bytes$"),
                ElementsAre("47000 pairs,   323000"))
        << result.text();
    EXPECT_THAT(result.captures("^each word is sent +(\\d+ pairs, +\\d+) bytes .*$"), ElementsAre("47 pairs,      323"))
        << result.text();
  }
}

TEST(shuffle_by_hand, a_text_without_words_is_no_error) { expect_no_words_are_counted("shuffle_by_hand"); }

TEST(shuffle_by_hand, a_file_that_cannot_be_read_is_one_line_and_exit_2) {
  expect_unreadable_is_refused("shuffle_by_hand");
}

TEST(shuffle_by_hand, a_word_without_end_is_refused) { expect_word_without_end_is_refused("shuffle_by_hand"); }

TEST(shuffle_by_hand_owner, comes_from_the_hash_fnv_1a) {
  // As its authors publish it, 85944171f73967e8, with the first half folded in.
  EXPECT_EQ(owner("foobar", 1'000'003), 0x8594417172ad2699U % 1'000'003);
  EXPECT_EQ(owner("caf\xc3\xa9", 1), 0U);
}

TEST(shuffle_by_hand_owner, gives_each_rank_about_as_many_words) {
  for (const std::size_t ranks : {2, 3, 4, 7}) {
    std::vector<int> owned(ranks);
    for (int i = 0; i < 70'000; ++i) ++owned.at(owner(std::to_string(i), ranks));
    for (const int words : owned) EXPECT_NEAR(words, 70'000.0 / static_cast<double>(ranks), 1'000) << ranks;
  }
}

TEST(shuffle_by_hand_owner, of_words_with_the_same_letters_is_any_rank) {
  for (const std::size_t ranks : {2, 3, 4, 7, 8}) {
    std::vector<int> owned(ranks);
    std::string word = "abcdefg";
    do ++owned.at(owner(word, ranks));
    while (std::next_permutation(word.begin(), word.end()));
    for (const int words : owned) EXPECT_NEAR(words * static_cast<double>(ranks) / 5'040, 1, 0.15) << ranks;
  }
}

TEST(shuffle_by_hand, says_how_often_each_rank_has_found_a_word_and_which_rank_owns_it) {
  const TemporaryDirectory folder;
  write(folder.path / "text", "aa bb aa cc, bb bb aa bb");  // two chunks of 12 bytes
  const auto result = run_ranks(2, "shuffle_by_hand", {"--file", folder.path / "text", "--top", "100"});
  Lines expected;
  for (const std::string counts : {"bb      1 + 3 = 4", "aa      2 + 1 = 3", "cc      1 + 0 = 1"}) {
    expected.push_back(counts + " on rank " + std::to_string(owner(counts.substr(0, 2), 2)));
  }
  EXPECT_EQ(result.lines_with(" on rank "), expected) << result.text();
}

TEST(shuffle_by_hand, shows_where_the_18_words_are) {
  const auto result = run_ranks(4, "shuffle_by_hand", {"--top", "18"});
  for (const auto& [rank, words] : {std::pair{"0", 3U}, {"1", 5U}, {"2", 4U}, {"3", 6U}}) {
    EXPECT_EQ(result.lines_with(std::string(" on rank ") + rank + "$").size(), words) << result.text();
  }
  EXPECT_TRUE(result.has_line("know    2 + 0 + 2 + 2 = 6 on rank 1")) << result.text();
}

TEST(shuffle_by_hand_pack, is_undone_by_add_unpacked_which_adds) {
  std::string message;
  pack(message, "there", 5);
  pack(message, "caf\xc3\xa9", 4'000'000'000);
  pack(message, "there", 1);
  EXPECT_EQ(message, "there 5\ncaf\xc3\xa9 4000000000\nthere 1\n");
  Counts counts = {{"there", 10}};
  add_unpacked(counts, message);
  EXPECT_EQ(counts, (Counts{{"there", 16}, {"caf\xc3\xa9", 4'000'000'000}}));
  add_unpacked(counts, "");
  EXPECT_EQ(counts.size(), 2U);
}

TEST(shuffle_by_hand_exchange, refuses_a_size_that_is_no_int) {
  EXPECT_EQ(size_for_mpi(2'147'483'647), 2'147'483'647);
  EXPECT_THROW(size_for_mpi(2'147'483'648), std::length_error);
}

TEST(shuffle_by_hand_exchange_of_too_much, is_refused_though_each_size_is_an_int) {
  if (again_as_ranks(4, "shuffle_by_hand_test")) return;
  const mpi::Environment world;
  sizes_are_large = true;
  std::string error;
  try {
    exchange(Messages(4));
  } catch (const std::length_error& too_long) {
    error = too_long.what();
  }
  EXPECT_EQ(error, "a rank cannot exchange 2 GiB or more");
}

TEST(shuffle_by_hand_word_table, stores_words_of_up_to_15_letters_in_itself) {
  const auto words_of_length = [](std::size_t length) {
    Lines words;
    for (int i = 0; i < 512; ++i) {  // for half of the places that the table begins with
      const std::string word = std::to_string(i);
      words.push_back(word + std::string(length - word.size(), 'x') + std::string(16, ' '));
    }
    return words;
  };
  const Lines short_words = words_of_length(15), long_words = words_of_length(16);
  WordTable table;
  const std::size_t before = mallinfo2().uordblks;  // bytes that malloc() has given away
  if (before == 0) GTEST_SKIP() << "a sanitizer has a malloc() of its own";
  for (const std::string& word : short_words) table.add(std::string_view(word).substr(0, 15));
  EXPECT_EQ(mallinfo2().uordblks, before);
  for (const std::string& word : long_words) table.add(std::string_view(word).substr(0, 16));
  EXPECT_GT(mallinfo2().uordblks, before);
}

TEST(shuffle_by_hand_word_table, counts_more_words_than_it_had_room_for_long_ones_too) {
  WordTable table;
  std::map<std::string, long> expected, counted;
  for (int i = 0; i < 50'000; ++i) {
    const std::string word = std::to_string(i % 7'000) + std::string(static_cast<std::size_t>(i % 20), 'x');
    for_each_word(word, [&](auto same) { table.add(same); });
    ++expected[word];
  }
  table.for_each([&](auto word, long count) { counted[std::string(word)] += count; });
  EXPECT_EQ(counted, expected);
}

}  // namespace
