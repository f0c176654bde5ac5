// Pitfall: the text is cut at any byte
//
// A text is cut into two halves of equal size, and the words of each are counted. The cut goes through a word: its two
// parts are counted as two words, and neither is in the text.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/word_count/word_count_cut.cpp -o word_count_cut
// Run:     word_count_cut
// Symptom: exit 1, prints "8 words, expected 7"

#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>

namespace {

long words_in(const std::string& text) {
  std::istringstream words(text);
  return std::distance(std::istream_iterator<std::string>(words), {});
}

}  // namespace

int main() {
  const std::string text = "there are things we do not know";
  const std::size_t half = text.size() / 2;  // wrong: the byte before and the byte after may be of one word
  const std::string first = text.substr(0, half), second = text.substr(half);
  std::printf("'%s' and '%s': %ld words, expected %ld\n", first.c_str(), second.c_str(),
              words_in(first) + words_in(second), words_in(text));
  return words_in(first) + words_in(second) == words_in(text) ? 0 : 1;
}
