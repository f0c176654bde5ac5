/// What the tests of word_count and shuffle_by_hand share: texts, and their words as coreutils count them.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

using Lines = std::vector<std::string>;

inline const Lines all_by_count = {"are 6",  "know 6",   "we 6",    "there 5",    "do 3",   "not 3",
                                   "that 3", "things 3", "known 2", "unknowns 2", "also 1", "but 1",
                                   "is 1",   "knowns 1", "say 1",   "these 1",    "to 1",   "unknown 1"};

/// "word count" of each word that a result names, in lines "word count" or "word 1 + 2 = count on rank 0".
inline Lines list_of(const test_support::Result& result) {
  Lines list = result.captures("^(\\S+ \\d+)$");
  const Lines words = result.captures("^(\\S+) .* = \\d+ on rank \\d+$");
  const Lines counts = result.captures(" = (\\d+) on rank \\d+$");
  EXPECT_EQ(words.size(), counts.size());
  for (std::size_t i = 0; i < words.size(); ++i) list.push_back(words[i] + " " + counts.at(i));
  return list;
}

inline void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

/// Words of 1 to 12 letters, some with capitals and punctuation, between white space of all kinds.
inline std::string random_text(std::size_t bytes, int different, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Lines words;
  for (int i = 0; i < different; ++i) {
    std::string word;
    for (int length = 1 + below(12); length > 0; --length)
      word += static_cast<char>((below(9) ? 'a' : 'A') + below(26));
    words.push_back(word);
  }
  const Lines between = {" ", "\n", "\t ", ", ", ".\n", " -- ", "'", "\r\n", "\v", "\f"};
  std::string text;
  while (text.size() < bytes) text += words[below(different)] + between[below(10)];
  return text;
}

/// "word count" of each word of the file, by coreutils, ordered as the recipe does.
inline Lines counts_of_coreutils(const test_support::TemporaryDirectory& folder, const std::filesystem::path& file) {
  const std::string list = folder.path / "list";
  const auto result = test_support::run(
      "/bin/sh", {"-c", "export LC_ALL=C; tr -s '[:space:]' '\\n' <" + file.string() +
                            " | tr -d '[:punct:]' | tr '[:upper:]' '[:lower:]' | grep . | sort | uniq -c"
                            " | sort -k1,1nr -k2,2 | awk '{ print $2, $1 }' >" +
                            list});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  Lines lines;
  std::ifstream stream(list);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The program finds the known counts of the six sentences on any number of ranks, and says so in the line
/// "ok    <different>: 18".
inline void expect_the_six_sentences(const std::string& program, const std::string& different) {
  for (const int ranks : {1, 2, 3, 7}) {
    const auto result = test_support::run_ranks(ranks, program, {"--top", "100", "--copies", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(list_of(result), all_by_count) << ranks;
    EXPECT_TRUE(result.has_line("ok    words: 47")) << result.text();
    EXPECT_TRUE(result.has_line("ok    " + different + ": 18")) << result.text();
  }
}

/// The program counts a short and a long random text as coreutils do.
inline void expect_the_counts_of_coreutils(const std::string& program) {
  const test_support::TemporaryDirectory folder;
  const auto file = folder.path / "text";
  for (const auto& [bytes, different] : {std::pair{5'000U, 30}, {3'000'000U, 20'000}}) {
    write(file, random_text(bytes, different, bytes));
    const Lines expected = counts_of_coreutils(folder, file);
    ASSERT_GT(expected.size(), 20U);
    for (const int ranks : {2, 3}) {
      const auto result = test_support::run_ranks(ranks, program, {"--file", file, "--top", "1000000"});
      ASSERT_EQ(result.exit_code, 0);
      EXPECT_TRUE(list_of(result) == expected) << ranks << ' ' << bytes;
    }
  }
}

inline std::string one_word_200000_times() {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "The ";
  return text;
}

inline void expect_no_words_are_counted(const std::string& program) {
  const test_support::TemporaryDirectory folder;
  for (const std::string text : {"", " \n\t", "-- ... !", "\n"}) {
    write(folder.path / "text", text);
    const auto result = test_support::run_ranks(3, program, {"--file", folder.path / "text"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    words: 0")) << result.text();
    EXPECT_TRUE(list_of(result).empty());
  }
}

inline void expect_unreadable_is_refused(const std::string& program) {
  const test_support::TemporaryDirectory folder;
  for (const std::string file : {folder.path / "none", folder.path}) {
    const auto result = test_support::run_ranks(3, program, {"--file", file});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre(program + ": --file: no file that can be read: " + file));
  }
}

inline void expect_word_without_end_is_refused(const std::string& program) {
  const test_support::TemporaryDirectory folder;
  write(folder.path / "text", std::string("one ").append(3'000'000, 'x').append(" two"));
  const auto result = test_support::run_ranks(2, program, {"--file", folder.path / "text"});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_FALSE(result.err.empty());
  EXPECT_NE(result.err[0].find("a word has more than 65536 bytes"), std::string::npos) << result.text();
}
