/// The fast table of the bench.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// Words with their counts: a hash table with open addressing, at most half full. A word of up to 15 letters is stored
/// as two numbers, so that it takes two comparisons to find it. The few longer ones have a table of their own.
class WordTable {
 public:
  /// Counts a word. A blank follows it, and at least 15 bytes that may be read, as for_each_word promises.
  void add(std::string_view word) {
    if (word.size() > 15) {
      ++long_words_[std::string(word)];
      return;
    }
    Entry& entry = place(entries_, letters_of(word.data(), word.size() + 1));
    if (++entry.count == 1) {
      entry.letters = letters_of(word.data(), word.size() + 1);
      if (2 * ++size_ > entries_.size()) grow();
    }
  }

  /// Calls use(word, count) for each word, in no particular order.
  template <typename Use>
  void for_each(Use use) const {
    for (const Entry& entry : entries_) {
      const auto* const word = reinterpret_cast<const char*>(entry.letters.data());
      if (entry.count > 0) use(std::string_view(word, std::string_view(word, 16).find(' ')), entry.count);
    }
    for (const auto& [word, count] : long_words_) use(std::string_view(word), count);
  }

 private:
  using Letters = std::array<std::uint64_t, 2>;  ///< a word, the blank after it, and zeros
  struct Entry {
    Letters letters = {};
    long count = 0;  ///< 0: the place is free
  };

  /// The first `size` of the 16 bytes at `from`, and zeros.
  static Letters letters_of(const char* from, std::size_t size) {
    static constexpr auto mask = [] {
      std::array<unsigned char, 32> bytes = {};
      for (int i = 0; i < 16; ++i) bytes[i] = 0xff;
      return bytes;
    }();
    Letters letters, kept;
    std::memcpy(&letters, from, sizeof letters);
    std::memcpy(&kept, mask.data() + 16 - size, sizeof kept);
    return {letters[0] & kept[0], letters[1] & kept[1]};
  }

  static Entry& place(std::vector<Entry>& entries, const Letters& letters) {
    const std::uint64_t hash = (letters[0] ^ (letters[1] * 0x9e3779b97f4a7c15U)) * 0xd6e8feb86659fd93U;
    std::size_t i = hash >> (64 - std::countr_zero(entries.size()));  // the size is a power of two
    while (entries[i].count > 0 && entries[i].letters != letters) i = (i + 1) & (entries.size() - 1);
    return entries[i];
  }

  void grow() {
    std::vector<Entry> larger(2 * entries_.size());
    for (const Entry& entry : entries_) {
      if (entry.count > 0) place(larger, entry.letters) = entry;
    }
    entries_ = std::move(larger);
  }

  std::size_t size_ = 0;
  std::vector<Entry> entries_ = std::vector<Entry>(1024);
  std::unordered_map<std::string, long> long_words_;
};
