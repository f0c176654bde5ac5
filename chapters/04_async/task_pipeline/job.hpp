/// The work of this recipe: texts that are read, counted in some way, and written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

struct Text {
  int number = 0;
  std::string letters;
  int result = 0;
};

/// The three stages. A text is in flight from the moment when it is read until it has been written.
class Job {
 public:
  explicit Job(int texts) : texts_(texts) {}

  /// Makes up a text, which stands for reading one; returns false if there is no more. One call at a time: all
  /// texts come from one random generator.
  bool read(Text& text) {
    if (read_ == texts_) return false;
    max_in_flight = std::max(max_in_flight, ++in_flight);
    text = {read_++, std::string(500, ' '), 0};
    for (char& letter : text.letters) letter = "ACGT"[random_() % 4];
    return true;
  }

  /// Counts the pairs of letters of which the first is later in the alphabet. Any number of calls at a time: each one
  /// works on its own text.
  static void count(Text& text) {
    for (std::size_t i = 0; i < text.letters.size(); ++i) {
      for (std::size_t j = i + 1; j < text.letters.size(); ++j) text.result += text.letters[i] > text.letters[j];
    }
  }

  /// One call at a time, in the order of reading.
  void write(const Text& text) {
    written.push_back(text.result);
    --in_flight;
  }

  std::vector<int> written;
  std::atomic<int> in_flight = 0;
  int max_in_flight = 0;

 private:
  const int texts_;
  std::mt19937 random_{1};
  int read_ = 0;
};
