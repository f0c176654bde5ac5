/// The work of this recipe: a table in which each cell follows from its neighbours.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

inline std::string random_letters(int count, std::mt19937& random) {
  std::string letters(count, ' ');
  for (char& letter : letters) letter = "ACGT"[random() % 4];
  return letters;
}

/// How many letters two texts have in common, in the same order but with gaps (their longest common subsequence): 3 for
/// GATTAC and GCAC, namely GAC. Cell (i, j) has this number for the first i letters of one text and the first j letters
/// of the other. It follows from the cell above, the one to the left, and the one diagonally above left.
class Table {
 public:
  /// Every seventh block is filled `slow` times.
  Table(std::string down, std::string across, int slow = 1)
      : down_(std::move(down)), across_(std::move(across)), slow_(slow) {
    cells.assign(down_.size() + 1, std::vector<int>(across_.size() + 1, -1));  // -1: not filled yet
    std::fill(cells[0].begin(), cells[0].end(), 0);
    for (std::vector<int>& row : cells) row[0] = 0;
  }

  /// How many blocks of `size` by `size` cells the table has in each direction; the last ones may be smaller.
  int block_rows(int size) const { return (static_cast<int>(down_.size()) + size - 1) / size; }
  int block_columns(int size) const { return (static_cast<int>(across_.size()) + size - 1) / size; }

  /// Fills a block. The block above and the one to the left have to be full.
  void fill_block(int row, int column, int size) {
    const int times = (3 * row + 5 * column) % 7 == 0 ? slow_ : 1;
    for (int i = 0; i < times; ++i) fill_once(row, column, size);
  }

  std::vector<std::vector<int>> cells;

 private:
  [[gnu::noinline]] void fill_once(int block_row, int block_column, int size) {  // all forms run the same machine code
    const int bottom = std::min((block_row + 1) * size, static_cast<int>(down_.size()));
    const int right = std::min((block_column + 1) * size, static_cast<int>(across_.size()));
    for (int i = block_row * size; i < bottom; ++i) {
      const std::vector<int>& above = cells[i];
      std::vector<int>& here = cells[i + 1];
      for (int j = block_column * size; j < right; ++j) {
        here[j + 1] = down_[i] == across_[j] ? above[j] + 1 : std::max(above[j + 1], here[j]);
      }
    }
  }

  std::string down_, across_;
  int slow_;
};
