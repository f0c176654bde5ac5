// One-sided communication
//
// Each of four ranks opens a window: memory that the others read and write without its help. Round a ring, every rank
// puts a number into its right neighbour's window and gets one from its left neighbour's. All add their arrays up in
// the window of rank 0. A counter there deals out the rows of a picture, each to whoever asks next. Ranks of one
// machine then store into each other's memory directly. The pitfall, mpi_one_sided_lost_updates.cpp, counts by get and
// put.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_one_sided/mpi_one_sided.cpp common/cookbook/*.cpp -lfmt -o mpi_one_sided
// Run:     mpirun -n 4 mpi_one_sided [--rows N] [--stray N] [--memory WORD] [--up-to N]

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"
#include "transfer_times.hpp"
#include "window.hpp"

namespace {

using one_sided::Memory;
using one_sided::Window;

/// Every rank puts a number into its right neighbour's window, then gets what its left neighbour has been given. The
/// rank `stray` (-1 for none) puts it into the window of a rank that does not exist.
void round_a_ring(int stray, const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank(), ranks = session.ranks();
  const int right = (rank + 1) % ranks, left = (rank - 1 + ranks) % ranks;
  const int sent = 100 + rank;
  int got = -1;

  const Window<int> window(1);
  CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, window.handle()));  // an epoch begins
  CHECK_MPI(MPI_Put(&sent, 1, MPI_INT, rank == stray ? ranks : right, 0, 1, MPI_INT, window.handle()));
  CHECK_MPI(MPI_Win_fence(0, window.handle()));  // it ends: the number is there, and no sooner; another begins
  CHECK_MPI(MPI_Get(&got, 1, MPI_INT, left, 0, 1, MPI_INT, window.handle()));
  CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.handle()));  // and ends: `got` may be read

  const int found = window.mine()[0];
  session.print_in_order(fmt::format("process {} put {} into {}'s window, found {} in its own, got {} from {}'s", rank,
                                     sent, right, found, got, left));
  const int second = (rank - 2 + 2 * ranks) % ranks;  // the left neighbour's left neighbour
  const bool have = collective::everywhere(found == 100 + left), got_it = collective::everywhere(got == 100 + second);
  if (rank != 0) return;
  checks.that("every window holds the left neighbour's number", have);
  checks.that("every get brought the number from two places to the left", got_it);
}

/// Every rank adds (rank + 1) * [0, 1, 2] to the window of rank 0.
void add_up(const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank(), ranks = session.ranks();
  const Window<long> window(rank == 0 ? 3 : 0);  // the others lend nothing
  const std::vector<long> mine = {0, rank + 1L, 2 * (rank + 1L)};
  CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, window.handle()));
  CHECK_MPI(MPI_Accumulate(mine.data(), 3, MPI_LONG, 0, 0, 3, MPI_LONG, MPI_SUM, window.handle()));
  CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.handle()));
  if (rank != 0) return;
  const long sum = ranks * (ranks + 1L) / 2;
  checks.equal(fmt::format("rank 0 has {} * [0, 1, 2]", sum),
               std::vector<long>(window.mine().begin(), window.mine().end()), {0, sum, 2 * sum});
}

/// How many steps the points of one row of the Mandelbrot set take together: from a few to some ten thousand.
long steps_of_row(int row, int rows) {
  constexpr int columns = 64, max_steps = 1000;
  long steps = 0;
  for (int column = 0; column < columns; ++column) {
    const double x = -2 + 2.5 * column / columns, y = 1.25 * row / rows;
    double re = 0, im = 0;
    for (int i = 0; i < max_steps && re * re + im * im <= 4; ++i, ++steps) {
      const double next = re * re - im * im + x;
      im = 2 * re * im + y;
      re = next;
    }
  }
  return steps;
}

/// The rows are dealt out by a counter in the window of rank 0. Nobody hands them out: whoever is free takes the next.
void deal_out(int rows, const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank(), ranks = session.ranks();
  const Window<int> window(rank == 0 ? 1 : 0);
  std::vector<int> taken(static_cast<std::size_t>(rows));
  long steps = 0;
  CHECK_MPI(MPI_Win_lock_all(0, window.handle()));  // shared by all; rank 0 need not know of it
  for (;;) {
    const int one = 1;
    int row = 0;
    CHECK_MPI(MPI_Fetch_and_op(&one, &row, MPI_INT, 0, 0, MPI_SUM, window.handle()));
    CHECK_MPI(MPI_Win_flush(0, window.handle()));  // now `row` is what the counter was before
    if (row >= rows) break;
    ++taken[static_cast<std::size_t>(row)];
    steps += steps_of_row(row, rows);
  }
  CHECK_MPI(MPI_Win_unlock_all(window.handle()));

  std::vector<int> all_taken(taken.size());
  CHECK_MPI(MPI_Reduce(taken.data(), all_taken.data(), rows, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  const long all_steps = collective::sum(steps);
  const auto counts = session.gather(fmt::format("{}", std::accumulate(taken.begin(), taken.end(), 0)));
  if (rank != 0) return;

  std::vector<long> expected(taken.size());
  for (int row = 0; row < rows; ++row) expected[static_cast<std::size_t>(row)] = steps_of_row(row, rows);
  const long serial = std::accumulate(expected.begin(), expected.end(), 0L);
  long busiest = 0;  // if each rank took a block of rows
  for (int i = 0; i < ranks; ++i) {
    busiest = std::max(
        busiest, std::accumulate(expected.begin() + rows * i / ranks, expected.begin() + rows * (i + 1) / ranks, 0L));
  }
  cookbook::println("rows that each rank took: {}", fmt::join(counts, " "));
  cookbook::println("in blocks of rows, the busiest rank would have {:.2f} x its share of the steps",
                    static_cast<double>(busiest * ranks) / static_cast<double>(serial));
  checks.equal(fmt::format("rows of {} that were taken exactly once", rows),
               static_cast<int>(std::count(all_taken.begin(), all_taken.end(), 1)), rows);
  checks.equal("steps of all rows, beside the serial loop's", all_steps, serial);
}

/// The ranks of one machine lend each other memory that all of them can load from and store to. Every rank stores a
/// number at its right neighbour's.
void store_directly(const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank(), ranks = session.ranks();
  const Window<int> window(1, Memory::shared);
  CHECK_MPI(MPI_Win_lock_all(0, window.handle()));
  *window.memory_of((rank + 1) % ranks) = 100 + rank;  // a store like any other
  CHECK_MPI(MPI_Win_sync(window.handle()));            // which is now done,
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));              // and so are those of the others;
  CHECK_MPI(MPI_Win_sync(window.handle()));            // what is loaded from here on is new
  int sum = 0;
  for (int i = 0; i < ranks; ++i) sum += *window.memory_of(i);
  const int found = window.mine()[0];
  CHECK_MPI(MPI_Win_unlock_all(window.handle()));

  const bool have = collective::everywhere(found == 100 + (rank - 1 + ranks) % ranks);
  const bool summed = collective::everywhere(sum == 100 * ranks + ranks * (ranks - 1) / 2);
  if (rank != 0) return;
  checks.that("the left neighbour's store is in every rank's memory", have);
  checks.that("every rank has added up all memories by loads", summed);
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 64, stray = -1;
  std::string memory = "shared";
  std::size_t up_to = 16 << 20;
  cookbook::Options options("Read and write the memory of other ranks");
  options.add("rows", rows, "rows of the picture that are dealt out", 1, 10'000);
  options.add("stray", stray, "a rank that puts to a rank that does not exist, or -1 for none", -1, 1'000'000);
  options.add_choice("memory", memory, "where the memory comes from that is measured",
                     {"shared", "allocated", "created"});
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Session session;
  if (stray >= session.ranks()) return session.refuse(fmt::format("no rank {} among {}", stray, session.ranks()));
  const Memory measured = memory == "created"  ? Memory::created
                          : memory == "shared" ? Memory::shared
                                               : Memory::allocated;
  if (measured == Memory::created) {
    if (const std::string why = one_sided::why_not_created(); !why.empty()) return session.refuse(why);
  }

  cookbook::Checks checks;
  round_a_ring(stray, session, checks);
  add_up(session, checks);
  deal_out(rows, session, checks);
  store_directly(session, checks);
  one_sided::ask_a_sleeper(session, checks);
  one_sided::check_and_measure(measured, up_to, session, checks);
  return session.exit_code(checks);
}
