/// A text in chunks, and the words of a chunk.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "cookbook/mpi.hpp"

inline constexpr const char* six_sentences =
    "There are known knowns. These are things we know that we know. There are known unknowns. That is to say, there "
    "are things that we know we do not know. But there are also unknown unknowns. There are things we do not know we "
    "do not know";

/// A text that is read in chunks of at most 4 MiB (and the rest of a word), so that it need not fit into memory.
class Text {
 public:
  /// There will be at least so many chunks, except that none is empty.
  Text(std::unique_ptr<std::istream> stream, int at_least) : stream_(std::move(stream)) {
    size_ = stream_->seekg(0, std::ios::end).tellg();
    chunks_ = std::min(size_, std::max<long>(at_least, size_ / (4 << 20) + 1));
  }

  int chunks() const { return static_cast<int>(chunks_); }

  /// All words that begin in the i-th of chunks() equal parts. So no word is cut in two, and none comes twice.
  std::string chunk(int i) {
    const long begin = cut(i), end = cut(i + 1);
    std::string text(static_cast<std::size_t>(end - begin), '\0');
    stream_->clear();
    if (!stream_->seekg(begin).read(text.data(), end - begin)) throw std::runtime_error("the text cannot be read");
    return text;
  }

 private:
  /// Where chunk i begins: at the i-th of the equal parts, or behind the word that goes on there.
  long cut(long i) {
    long at = size_ * i / chunks_;
    stream_->clear();
    stream_->seekg(at - 1);
    while (0 < at && at < size_ && !std::isspace(stream_->get())) ++at;
    return at;
  }

  std::unique_ptr<std::istream> stream_;
  long size_, chunks_;
};

/// The text in `file`, or `copies` of the six sentences if this is empty; a chunk for each rank or more. If a rank
/// cannot read it, one line says why, and no rank gets a text. Called by all ranks.
inline std::optional<Text> open_text(const mpi::Environment& world, const std::string& file, int copies) {
  std::string sentences;
  for (int i = 0; i < copies && file.empty(); ++i) sentences.append(six_sentences).append(" ");
  std::unique_ptr<std::istream> stream = std::make_unique<std::istringstream>(sentences);
  if (!file.empty()) stream = std::make_unique<std::ifstream>(file, std::ios::binary);
  const bool readable = *stream && (file.empty() || std::filesystem::is_regular_file(file));
  const int first_failed = mpi::minmax_over_ranks(readable ? world.size() : world.rank()).first;
  if (first_failed == world.size()) return Text(std::move(stream), world.size());
  if (first_failed == world.rank()) cookbook::print_error("--file: no file that can be read: " + file);
  return std::nullopt;
}

/// Calls use(word) for each word of `text`. Words are separated by white space; punctuation is dropped, and letters
/// become small. The word is valid until `use` returns; a blank follows it, and at least 15 bytes that may be read.
/// Throws std::runtime_error if a word has more than 65536 bytes.
template <typename Use>
void for_each_word(std::string text, Use use) {
  struct Kind {
    char small;    // what stands for the byte
    bool dropped;  // nothing stands for it
  };
  static const auto kinds = [] {
    std::array<Kind, 256> of;
    for (int c = 0; c < 256; ++c) {
      of[c] = {static_cast<char>(std::isspace(c) ? ' ' : std::tolower(c)), std::ispunct(c) != 0};
    }
    return of;
  }();
  text.append(16, ' ');
  char* to = text.data();
  for (const char c : text) {
    const Kind kind = kinds[static_cast<unsigned char>(c)];
    *to = kind.small;     // a place that has been read
    to += !kind.dropped;  // no branch, since the processor could not foresee it
  }
  for (const char *word = text.data(), *end; word < to; word = end + 1) {
    end = static_cast<const char*>(std::memchr(word, ' ', static_cast<std::size_t>(to - word)));
    if (end - word > 65'536) throw std::runtime_error("a word has more than 65536 bytes");
    if (end > word) use(std::string_view(word, static_cast<std::size_t>(end - word)));
  }
}
