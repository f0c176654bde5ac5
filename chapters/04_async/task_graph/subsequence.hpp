/// The work of this recipe: how many letters two texts have in common, in the same order but with gaps allowed; as in
/// genetics. (The longest common subsequence: GAC for GATTAC and GCAC.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using Cell = std::uint16_t;

inline std::string random_letters(std::size_t count, std::mt19937& random) {
  std::string letters(count, ' ');
  for (char& letter : letters) letter = "ACGT"[random() % 4];
  return letters;
}

/// Cell (i, j) is the result for the first i letters of one text and the first j of the other. It follows from the
/// cells above it, to its left and between these two.
class Table {
 public:
  Table(std::string down, std::string across)
      : down_(std::move(down)), across_(std::move(across)), cells_((down_.size() + 1) * (across_.size() + 1)) {}

  /// How many blocks of `size` by `size` cells the table has; the last ones may be smaller.
  int block_rows(int size) const { return (static_cast<int>(down_.size()) + size - 1) / size; }
  int block_columns(int size) const { return (static_cast<int>(across_.size()) + size - 1) / size; }

  /// Fills a block; the one above it and the one to its left must be full.
  void fill_block(int block_row, int block_column, int size) {
    const std::size_t top = static_cast<std::size_t>(block_row) * static_cast<std::size_t>(size);
    const std::size_t left = static_cast<std::size_t>(block_column) * static_cast<std::size_t>(size);
    const std::size_t bottom = std::min(down_.size(), top + static_cast<std::size_t>(size));
    const std::size_t right = std::min(across_.size(), left + static_cast<std::size_t>(size));
    for (std::size_t i = top; i < bottom; ++i) {
      const Cell* above = &cells_[i * (across_.size() + 1)];
      Cell* row = &cells_[(i + 1) * (across_.size() + 1)];
      for (std::size_t j = left; j < right; ++j) {
        const auto longer = static_cast<Cell>(above[j] + 1);
        row[j + 1] = down_[i] == across_[j] ? longer : std::max(above[j + 1], row[j]);
      }
    }
  }

  /// Spoils all cells but those of row and column 0, so that a block that is filled too early gets wrong.
  void poison() {
    for (std::size_t i = across_.size() + 1; i < cells_.size(); ++i) {
      cells_[i] = i % (across_.size() + 1) == 0 ? Cell{0} : Cell{0xdead};
    }
  }

  Cell result() const { return cells_.back(); }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  std::string down_, across_;
  std::vector<Cell> cells_;
};

/// The same result from two rows: no table, and other code, so that each can check the other.
inline int common_letters(std::string_view a, std::string_view b) {
  std::vector<int> above(b.size() + 1), row(b.size() + 1);
  for (const char letter : a) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = letter == b[j] ? above[j] + 1 : std::max(above[j + 1], row[j]);
    }
    std::swap(above, row);
  }
  return above.back();
}
