// Latch and barrier
//
// A picture is drawn row by row; each row follows from the one above, and four threads share the cells of a row. So
// nobody may begin a row before all have finished the last one: a std::barrier holds them, phase by phase, and prints
// the row when it is complete. A std::latch holds threads once. Two barriers made by hand draw the same picture, and
// the tables at the end say what a phase costs with each.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/latch_and_barrier/latch_and_barrier.cpp common/cookbook/*.cpp -lfmt -pthread -o latch_and_barrier
// Run:     latch_and_barrier [--threads N] [--rows N]

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "hand_made.hpp"    // SleepingBarrier, LookingBarrier
#include "phase_costs.hpp"  // print_phase_costs()

namespace {

using Row = std::string;  // a char a cell, '#' for a living one
using Picture = std::vector<Row>;

/// One living cell in the middle of the first row; the others are still to be drawn.
Picture first_row_of(int rows) {
  const auto height = static_cast<std::size_t>(rows);
  Picture picture(height, Row(2 * height - 1, '.'));
  picture[0][height - 1] = '#';
  return picture;
}

/// Draws the cells [begin, end) of a row: a cell lives if one of its two neighbours above lives, but not both.
void draw(const Row& above, Row& row, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool left = i > 0 && above[i - 1] == '#';
    const bool right = i + 1 < above.size() && above[i + 1] == '#';
    row[i] = left != right ? '#' : '.';
  }
}

/// The sequential form.
Picture draw_alone(int rows) {
  Picture picture = first_row_of(rows);
  for (std::size_t y = 1; y < picture.size(); ++y) draw(picture[y - 1], picture[y], 0, picture[y].size());
  return picture;
}

/// The parallel form: each thread draws its part of every row, and waits at the barrier for the others. When all have
/// come, and before anybody goes on, one of them calls `row_done`.
template <template <typename> typename Barrier, typename RowDone>
Picture draw_together(int rows, int threads, RowDone row_done) {
  Picture picture = first_row_of(rows);
  std::size_t y = 1;
  const auto complete = [&]() noexcept {
    row_done(picture[y]);
    ++y;  // no lock: nobody else runs between two phases
  };
  Barrier<decltype(complete)> barrier(threads, complete);

  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, part = static_cast<std::size_t>(i), parts = static_cast<std::size_t>(threads)] {
      const std::size_t width = picture[0].size();
      while (y < picture.size()) {
        draw(picture[y - 1], picture[y], width * part / parts, width * (part + 1) / parts);
        barrier.arrive_and_wait();
      }
    });
  }
  for (std::jthread& worker : workers) worker.join();
  return picture;
}

/// The living cells of a picture, from the picture and from theory: row y has 2 to the number of one bits of y.
long living(const Picture& picture) {
  long count = 0;
  for (const Row& row : picture) count += std::ranges::count(row, '#');
  return count;
}

long living_in_theory(int rows) {
  long count = 0;
  for (unsigned y = 0; y < static_cast<unsigned>(rows); ++y) count += 1L << std::popcount(y);
  return count;
}

/// A latch opens once. Main waits for all parts, though no thread has ended yet, and then all threads wait for main.
long sum_through_a_latch(int threads) {
  std::vector<long> parts(static_cast<std::size_t>(threads));
  std::latch all_there(threads), summed(1);
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      parts[static_cast<std::size_t>(i)] = i + 1;
      all_there.count_down();
      summed.wait();
      parts[static_cast<std::size_t>(i)] = 0;
    });
  }
  all_there.wait();
  const long sum = std::accumulate(parts.begin(), parts.end(), 0L);
  summed.count_down();
  return sum;
}

/// Thread i takes part in i phases and then leaves for good. How many threads there were in each phase.
std::vector<int> threads_by_phase(int threads) {
  std::vector<int> counts;
  counts.reserve(static_cast<std::size_t>(threads));
  std::atomic<int> present = 0;
  std::barrier barrier(threads, [&]() noexcept { counts.push_back(present.exchange(0)); });
  std::vector<std::jthread> workers;
  for (int i = 1; i <= threads; ++i) {
    workers.emplace_back([&, i] {
      for (int phase = 1; phase < i; ++phase) {
        ++present;
        barrier.arrive_and_wait();
      }
      ++present;
      barrier.arrive_and_drop();  // it counts for this phase, and is not waited for in the next
    });
  }
  for (std::jthread& worker : workers) worker.join();
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4, rows = 16;
  cookbook::Options options("Hold threads together in phases with a latch and a barrier");
  options.add("threads", threads, "threads that share the work", 1, 64);
  options.add("rows", rows, "rows of the picture, a phase each but the first", 1, 500);
  options.parse(argc, argv);

  const Picture alone = draw_alone(rows);
  cookbook::println("{}", alone[0]);
  int rows_done = 1;
  const Picture together = draw_together<std::barrier>(rows, threads, [&rows_done](const Row& row) {
    cookbook::println("{}", row);
    ++rows_done;
  });
  const Picture by_sleeping = draw_together<SleepingBarrier>(rows, threads, [](const Row&) {});
  const Picture by_looking = draw_together<LookingBarrier>(rows, threads, [](const Row&) {});

  cookbook::Verdict verdict;
  verdict.equal("rows that were complete when printed", rows_done, rows);
  verdict.equal("living cells", living(together), living_in_theory(rows));
  verdict.equal("same picture as one thread draws", together == alone, true);
  verdict.equal("same picture by hand, by a barrier that sleeps", by_sleeping == alone, true);
  verdict.equal("same picture by hand, by a barrier that looks first", by_looking == alone, true);
  verdict.equal("sum of 1 to the number of threads", sum_through_a_latch(threads), threads * (threads + 1L) / 2);
  std::vector<int> fewer_and_fewer(static_cast<std::size_t>(threads));
  std::iota(fewer_and_fewer.rbegin(), fewer_and_fewer.rend(), 1);
  verdict.equal("threads in each phase, when one leaves after each", threads_by_phase(threads), fewer_and_fewer);

  print_phase_costs(verdict, "one phase, 2 threads on a core each", 2, true);
  print_phase_costs(verdict, "one phase, 8 threads on any cores", 8, false);
  return verdict.exit_code();
}
