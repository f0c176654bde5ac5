// The program's output beside coreutils, and the splitting of texts from inside.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define main main_of_the_program  // its functions are tested from inside, too
#include "05_distributed/word_count/word_count.cpp"
#undef main

#include "word_texts.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run_ranks;
using test_support::TemporaryDirectory;
using testing::ElementsAre;

TEST(word_count, the_six_sentences_whatever_the_number_of_ranks) {
  expect_the_six_sentences("word_count", "different words");
}

TEST(word_count, counts_as_coreutils_do_word_by_word) { expect_the_counts_of_coreutils("word_count"); }

TEST(word_count, a_text_larger_than_the_memory_it_may_have_is_counted_right) {
  const TemporaryDirectory folder;
  const auto file = folder.path / "text";
  write(file, random_text(4'000'000, 300'000, 1));
  const auto result =
      run_ranks(2, "word_count", {"--file", file, "--top", "1000000", "--page-mib", "1"}, {.limit = 50s});
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_TRUE(list_of(result) == counts_of_coreutils(folder, file));
  const auto memory = result.captures("^memory of the engine on rank 0: (\\d+) MB, written to files: [1-9]\\d* MB$");
  ASSERT_EQ(memory.size(), 1U);
  EXPECT_LT(std::stoi(memory[0]), 10);
}

/// What the table says of one text and one of the forms of map.
struct TableRow {
  int pairs = -1;
  double map = -1, shuffle = -1, reduce = -1, all = -1;  // ms
};

TableRow row_of(const test_support::Result& result, const std::string& text, const std::string& pair_of) {
  std::vector<double> numbers;
  std::string before = "^" + text + " +each " + pair_of + " +";
  for (const std::string unit : {"", " ms", " ms", " ms", " ms"}) {
    const auto found = result.captures(before + "(\\d+)" + unit + "(?: .*)?$");
    if (found.size() != 1) {
      ADD_FAILURE() << before << '\n' << result.text();
      return {};
    }
    numbers.push_back(std::stod(found[0]));
    before += "\\d+" + unit + " +";
  }
  return {static_cast<int>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]};
}

TEST(word_count, map_makes_a_pair_per_word_or_one_per_different_word_of_a_chunk) {
  const TemporaryDirectory folder;
  write(folder.path / "text", one_word_200000_times());
  for (const int ranks : {1, 3}) {  // as many chunks
    const auto result = run_ranks(ranks, "word_count", {"--file", folder.path / "text"});
    EXPECT_EQ(row_of(result, "the file,", "word").pairs, 200'000);
    EXPECT_EQ(row_of(result, "1 different", "different word").pairs, ranks);
  }
}

TEST(word_count, the_steps_together_take_all_of_the_time_and_the_loop_has_one) {
  const auto result = run_ranks(2, "word_count", {});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const auto& [text, pair_of] : {std::pair{"six sentences,", "word"},
                                      {"18 different", "different word"},
                                      {"as in a language,", "word"},
                                      {"every word once,", "word"},
                                      {"470000 different", "different word"}}) {
    const TableRow row = row_of(result, text, pair_of);
    EXPECT_NEAR(row.map + row.shuffle + row.reduce, row.all, 2) << result.text();  // each is rounded to 1 ms
    EXPECT_GT(row.map, 0) << result.text();
  }
  const auto loops = result.captures("^ +.no map: a loop on one rank. +(\\d+) ms$");
  ASSERT_EQ(loops.size(), 3U) << result.text();
  for (const std::string& ms : loops) EXPECT_GT(std::stoi(ms), 1) << result.text();
}

TEST(word_count, makes_a_pair_per_word_that_a_chunk_has) {
  for (const auto& [copies, pairs] : {std::pair{"10000", 36}, {"1", 25}}) {  // the answers to an exercise
    const auto result = run_ranks(2, "word_count", {"--copies", copies});
    EXPECT_EQ(row_of(result, "18 different", "different word").pairs, pairs);
  }
}

TEST(word_count, saves_fewer_pairs_the_more_words_differ) {
  const auto result = run_ranks(3, "word_count", {"--copies", "1000"});
  EXPECT_EQ(row_of(result, "18 different", "different word").pairs, 54);
  for (const std::string text : {"six sentences,", "as in a language,", "every word once,"}) {
    EXPECT_EQ(row_of(result, text, "word").pairs, 47'000);
  }
  EXPECT_EQ(row_of(result, "47000 different", "different word").pairs, 47'000);
  std::istringstream text(as_in_a_language(47'000));
  const std::set<std::string> different(std::istream_iterator<std::string>(text), {});
  const int pairs = row_of(result, std::to_string(different.size()) + " different", "different word").pairs;
  EXPECT_GT(pairs, static_cast<int>(different.size()));  // many words are in more than one chunk
  EXPECT_LT(pairs, 47'000 / 2);
}

TEST(word_count, both_forms_count_each_word_as_the_loop_does) {
  const auto result = run_ranks(2, "word_count", {"--copies", "100"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.has_line("ok    both forms count as the loop does: yes")) << result.text();
}

TEST(word_count_texts, as_in_a_language_a_word_comes_the_less_often_the_later_it_is) {
  int one = 0, eight_to_fifteen = 0, all = 0;
  std::istringstream text(as_in_a_language(160'000));
  for (int number; text >> number; ++all) {
    one += number == 1;
    eight_to_fifteen += 8 <= number && number <= 15;
    EXPECT_TRUE(1 <= number && number <= 65'535) << number;
  }
  EXPECT_EQ(all, 160'000);
  EXPECT_NEAR(one, 10'000, 500);
  EXPECT_NEAR(eight_to_fifteen, 10'000, 500);  // eight words
}

TEST(word_count, one_word_that_fills_the_text_is_counted) {
  const TemporaryDirectory folder;
  write(folder.path / "text", one_word_200000_times());
  EXPECT_THAT(list_of(run_ranks(3, "word_count", {"--file", folder.path / "text"})), ElementsAre("the 200000"));
}

TEST(word_count, a_text_without_words_is_no_error) { expect_no_words_are_counted("word_count"); }

TEST(word_count, a_file_that_cannot_be_read_is_one_line_and_exit_2) { expect_unreadable_is_refused("word_count"); }

TEST(word_count, a_word_without_end_is_refused) { expect_word_without_end_is_refused("word_count"); }

TEST(word_count, no_files_are_left_even_if_it_is_killed) {
  const TemporaryDirectory folder, scratch;
  const auto file = folder.path / "text";
  write(file, random_text(10'000'000, 300'000, 1));
  for (const int ms : {-1, 300, 600}) {
    run_ranks(2, "word_count", {"--file", file, "--page-mib", "1"},
              {.environment = {{"TMPDIR", scratch.path}}, .kill_after_ms = ms});
    const auto left = [&] {
      int count = 0;
      for (const auto& entry : std::filesystem::directory_iterator(scratch.path)) {
        count += entry.path().filename().string().starts_with("word_count.");
      }
      return count;
    };
    for (int i = 0; left() > 0 && i < 500; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(left(), 0) << ms;
  }
}

Lines words_of(const std::string& text) {
  Lines words;
  for_each_word(text, [&](auto word) { words.emplace_back(word); });
  return words;
}

TEST(word_count_count_words, a_word_may_have_more_counts_than_fit_into_memory) {
  const mpi::Environment world;  // one rank: this test
  const TemporaryDirectory scratch;
  std::string all;
  for (int i = 0; i < 200'000; ++i) all += "a ";
  Text text(std::make_unique<std::istringstream>(all), 200'000);  // chunks of one word each
  ASSERT_EQ(text.chunks(), 200'000);
  MapReduce engine(MPI_COMM_WORLD);
  engine.memsize = 1;
  engine.set_fpath(scratch.path.c_str());
  const auto counted = count_words(engine, text, map_chunk);
  EXPECT_EQ(counted.different, 1);
  EXPECT_EQ(counted.pairs, 200'000);
  long sum = 0;
  engine.scan([](char*, int, char* count, int, void* to) { *static_cast<long*>(to) += count_in(count); }, &sum);
  EXPECT_EQ(sum, 200'000);
}

TEST(word_count_words, are_separated_by_white_space_and_lose_punctuation_and_capitals) {
  EXPECT_THAT(words_of("There are known knowns."), ElementsAre("there", "are", "known", "knowns"));
  EXPECT_THAT(words_of("  Don't -- stop!\r\n\tNOW\v\f"), ElementsAre("dont", "stop", "now"));
  EXPECT_THAT(words_of(""), ElementsAre());
  EXPECT_THAT(words_of("-- . ,"), ElementsAre());
  EXPECT_THAT(words_of("caf\xc3\xa9 2nd"), ElementsAre("caf\xc3\xa9", "2nd"));
}

TEST(word_count_words, of_65536_bytes_are_the_longest) {
  EXPECT_THAT(words_of("a " + std::string(65'536, 'x')), ElementsAre("a", std::string(65'536, 'x')));
  EXPECT_THROW(words_of("a " + std::string(65'537, 'x')), std::runtime_error);
}

TEST(word_count_words, the_six_sentences_have_20_different_words_if_capitals_count) {
  std::istringstream text(six_sentences);
  std::map<std::string, int> counts;
  for (std::string word; text >> word;) {
    word.erase(std::remove(word.begin(), word.end(), '.'), word.end());
    word.erase(std::remove(word.begin(), word.end(), ','), word.end());
    ++counts[word];
  }
  EXPECT_EQ(counts.size(), 20U);
  EXPECT_EQ(counts["There"], 3);
  EXPECT_EQ(counts["there"], 2);
  EXPECT_EQ(counts["That"], 1);
  EXPECT_EQ(counts["that"], 2);
}

TEST(word_count_text, no_cut_goes_through_a_word_whatever_the_number_of_chunks) {
  const std::string all = random_text(400, 20, 3) + " " + std::string(100, 'x') + " the end";
  for (int chunks = 1; chunks <= static_cast<int>(all.size()); ++chunks) {
    Text text(std::make_unique<std::istringstream>(all), chunks);
    ASSERT_EQ(text.chunks(), chunks);
    Lines words;
    for (int i = 0; i < chunks; ++i) {
      for (const std::string& word : words_of(text.chunk(i))) words.push_back(word);
    }
    ASSERT_EQ(words, words_of(all)) << chunks;
  }
  EXPECT_EQ(Text(std::make_unique<std::istringstream>(all), 10'000).chunks(), static_cast<int>(all.size()));
}

TEST(word_count_text, no_chunk_is_larger_than_4_mib_and_a_word) {
  const std::string all = random_text(20'000'000, 100, 3);
  Text text(std::make_unique<std::istringstream>(all), 1);
  std::string put_together;
  for (int i = 0; i < text.chunks(); ++i) {
    const std::string chunk = text.chunk(i);
    EXPECT_LT(chunk.size(), (4U << 20) + 200) << i;
    put_together += chunk;
  }
  EXPECT_TRUE(put_together == all);
}

}  // namespace
