// Latch and barrier
//
// Four threads draw a picture row by row, each its part of every row. A row follows from the row above, so no thread
// may begin a row before all have finished that one: they wait for each other at a std::barrier. Beside it stands what
// may come out if they do not wait, and which cells are wrong: the mistakes begin at the borders of the parts. At the
// end threads count the '#' in their parts, and main waits for all counts at a std::latch.
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
void draw(const std::string& above, std::string& row, std::size_t begin, std::size_t end) {
  for (std::size_t x = begin; x < end; ++x) {
    const bool left = x > 0 && above[x - 1] == '#';
    const bool right = x + 1 < above.size() && above[x + 1] == '#';
    row[x] = left != right ? '#' : '.';
  }
}

/// Draws the picture in phases, a row each.
void draw_in_phases(Picture& picture, int threads) {
  const std::size_t rows = picture.size(), width = picture[0].size();
  std::size_t y = 1;                                        // the row that is being drawn
  std::barrier row_done(threads, [&]() noexcept { ++y; });  // when all have come, y becomes the next row

  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, begin = width * i / threads, end = width * (i + 1) / threads] {
      while (y < rows) {
        draw(picture[y - 1], picture[y], begin, end);
        row_done.arrive_and_wait();  // waits for the others; then y is the next row
      }
    });
  }
}

/// What may come out without a barrier: a thread happens to draw all its rows before the next one begins. Here it has
/// to, so that the output is the same in every run.
void draw_part_after_part(Picture& picture, int threads) {
  const std::size_t width = picture[0].size();
  for (int i = 0; i < threads; ++i) {
    std::jthread([&, begin = width * i / threads, end = width * (i + 1) / threads] {
      for (std::size_t y = 1; y < picture.size(); ++y) draw(picture[y - 1], picture[y], begin, end);
    }).join();
  }
}

/// A row with a '|' between the parts of the threads.
std::string in_parts(std::string row, int threads) {
  const auto width = static_cast<long>(row.size());
  for (int i = threads - 1; i > 0; --i) row.insert(row.begin() + width * i / threads, '|');
  return row;
}

/// A row with an 'x' for each cell that is not as expected.
std::string mistakes(const std::string& row, const std::string& expected) {
  std::string marked(row.size(), '.');
  for (std::size_t x = 0; x < row.size(); ++x) {
    if (row[x] != expected[x]) marked[x] = 'x';
  }
  return marked;
}

int wrong_cells(const Picture& picture, const Picture& expected) {
  int wrong = 0;
  for (std::size_t y = 0; y < picture.size(); ++y) {
    for (std::size_t x = 0; x < picture[y].size(); ++x) wrong += picture[y][x] != expected[y][x];
  }
  return wrong;
}

/// Each thread counts the '#' in its part. The sum is printed, and returned, while all threads are still there.
long count_in_parts(const Picture& picture, int threads) {
  const std::size_t width = picture[0].size();
  std::vector<long> counts(threads);
  std::latch counted(threads), printed(1);

  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, begin = width * i / threads, end = width * (i + 1) / threads, i] {
      for (const std::string& row : picture) counts[i] += std::count(row.begin() + begin, row.begin() + end, '#');
      counted.count_down();  // this count is there; does not wait
      printed.wait();        // the thread could as well go on with other work
    });
  }
  counted.wait();  // opens when all threads have counted down
  const long sum = std::accumulate(counts.begin(), counts.end(), 0L);
  cookbook::println("{} '#', printed before any of the {} threads that counted has ended", sum, threads);
  printed.count_down();  // opens for all of them
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4, rows = 8;
  cookbook::Options options("Hold threads together in phases with a latch and a barrier");
  options.add("threads", threads, "threads that share the work", 1, 64);
  options.add("rows", rows, "rows of the picture", 1, 500);
  options.parse(argc, argv);

  Picture expected = new_picture(rows), in_phases = expected, unordered = expected;
  for (int y = 1; y < rows; ++y) draw(expected[y - 1], expected[y], 0, expected[y].size());
  draw_in_phases(in_phases, threads);
  draw_part_after_part(unordered, threads);

  const int column = std::max(18, 2 * rows - 1 + threads + 1);
  cookbook::println("{:<{}}{:<{}}its wrong cells", "with a barrier", column, "part after part", column);
  for (int y = 0; y < rows; ++y) {
    cookbook::println("{:<{}}{:<{}}{}", in_parts(in_phases[y], threads), column, in_parts(unordered[y], threads),
                      column, in_parts(mistakes(unordered[y], expected[y]), threads));
  }
  cookbook::println("wrong cells: {} with a barrier, {} without waiting", wrong_cells(in_phases, expected),
                    wrong_cells(unordered, expected));
  const long counted = count_in_parts(in_phases, threads);

  long expected_count = 0;
  for (const std::string& row : expected) expected_count += std::ranges::count(row, '#');
  cookbook::Checks checks;
  checks.equal("wrong cells with a barrier", wrong_cells(in_phases, expected), 0);
  checks.equal("'#' that all threads counted", counted, expected_count);
  return checks.exit_code();
}
