// Latch and barrier
//
// Four threads draw a picture row by row, each its part of every row. A row follows from the row above, so no thread
// may begin a row before all have finished that one: they wait for each other at a std::barrier, which also prints
// the row. At the end each thread counts the '#' in its part, and main waits for all counts at a std::latch.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/latch_and_barrier/latch_and_barrier.cpp common/cookbook/*.cpp -lfmt -pthread -o latch_and_barrier
// Run:     latch_and_barrier [--threads N] [--rows N]

#include <algorithm>
#include <barrier>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Picture = std::vector<std::string>;

/// A picture with one '#' in the middle of its first row.
Picture new_picture(int rows) {
  Picture picture(rows, std::string(2 * rows - 1, '.'));
  picture[0][rows - 1] = '#';
  return picture;
}

/// Draws the cells from `begin` to before `end` of a row: '#' where exactly one of the two neighbours above is one.
void draw(const std::string& above, std::string& row, int begin, int end) {
  for (int x = begin; x < end; ++x) {
    const bool left = x > 0 && above[x - 1] == '#';
    const bool right = x + 1 < std::ssize(above) && above[x + 1] == '#';
    row[x] = left != right ? '#' : '.';
  }
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4, rows = 16;
  cookbook::Options options("Hold threads together in phases with a latch and a barrier");
  options.add("threads", threads, "threads that share the work", 1, 64);
  options.add("rows", rows, "rows of the picture", 1, 500);
  options.parse(argc, argv);

  Picture picture = new_picture(rows);
  const int width = 2 * rows - 1;
  int y = 1;  // the row that is being drawn
  cookbook::println("{}", picture[0]);

  std::barrier row_done(threads, [&]() noexcept {  // runs once per row, while all threads wait
    cookbook::println("{}", picture[y]);
    ++y;
  });
  std::vector<long> counts(threads);
  std::latch counted(threads);

  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, begin = width * i / threads, end = width * (i + 1) / threads, i] {
      while (y < rows) {
        draw(picture[y - 1], picture[y], begin, end);
        row_done.arrive_and_wait();
      }
      for (const std::string& row : picture) counts[i] += std::count(row.begin() + begin, row.begin() + end, '#');
      counted.count_down();
      // The thread could go on with other work here: main needs only its count.
    });
  }
  counted.wait();
  const long count = std::accumulate(counts.begin(), counts.end(), 0L);

  Picture expected = new_picture(rows);
  for (int row = 1; row < rows; ++row) draw(expected[row - 1], expected[row], 0, width);
  long expected_count = 0;
  for (const std::string& row : expected) expected_count += std::ranges::count(row, '#');

  cookbook::Checks checks;
  checks.equal("rows that were drawn", y, rows);
  checks.that("one thread draws the same picture", picture == expected);
  checks.equal("'#' that all threads counted", count, expected_count);
  return checks.exit_code();
}
