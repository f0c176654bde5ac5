/// Texts of word_count that differ in how often a word comes again.
#pragma once

#include <random>
#include <string>

/// Here the n-th most frequent word comes about 1 / n times as often as the first one, as in many texts of a natural
/// language (Zipf's law). There are up to 65,535 different words.
inline std::string as_in_a_language(long words) {
  std::mt19937 random(1);
  std::string text;
  for (long i = 0; i < words; ++i) {
    const unsigned first = 1U << random() % 16;  // 1, 2, 4 and so on, all equally often
    text += std::to_string(first + random() % first) + ' ';
  }
  return text;
}

/// 1 2 3 and so on.
inline std::string every_word_once(long words) {
  std::string text;
  for (long i = 1; i <= words; ++i) text += std::to_string(i) + ' ';
  return text;
}
