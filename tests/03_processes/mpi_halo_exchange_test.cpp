// The tiles of the ranks, the bits of the result for many shapes, and the heat equation beside a formula.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "03_processes/mpi_halo_exchange/plate.hpp"
#include "03_processes/mpi_halo_exchange/tile.hpp"
#include "cookbook/mpi.hpp"
#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run_ranks;

TEST(mpi_halo_exchange, the_bits_are_those_of_the_serial_result_for_any_number_of_ranks) {
  struct Case {
    int ranks, rows, columns, steps;
  };
  // 3 x 3 tiles; 7 x 1 tiles of one row each; tiles of a single cell; one rank with a single cell; no step at all.
  for (const auto& [ranks, rows, columns, steps] :
       {Case{9, 61, 40, 101}, Case{7, 7, 9, 50}, Case{4, 4, 4, 30}, Case{1, 1, 1, 3}, Case{2, 20, 20, 0}}) {
    const auto result = run_ranks(
        ranks, "mpi_halo_exchange",
        {"--rows", std::to_string(rows), "--columns", std::to_string(columns), "--steps", std::to_string(steps)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string cells = std::to_string(rows * columns);
    EXPECT_TRUE(result.has_line("ok    right cells, exchange before the work: " + cells)) << result.text();
    EXPECT_TRUE(result.has_line("ok    right cells, exchange during the work: " + cells)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

/// This test starts itself again as six ranks. What each has: its tile's area, and the ranks above, below, left, right.
TEST(mpi_halo_exchange_tiles, each_cell_is_in_one_tile_and_neighbours_name_each_other) {
  if (again_as_ranks(6, "mpi_halo_exchange_test")) return;
  const mpi::Environment world(6);
  const int rows = 23, columns = 17;
  const Tile tile(MPI_COMM_WORLD, rows, columns);
  struct Owned {
    int rank;
    Area area;
    int beside[4];
  };
  const Owned mine = {tile.rank, tile.area(), {tile.rank_above, tile.rank_below, tile.rank_left, tile.rank_right}};
  std::vector<Owned> all(6);
  MPI_CHECK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
  std::map<int, Owned> tiles;
  for (const Owned& one : all) tiles[one.rank] = one;
  ASSERT_EQ(tiles.size(), 6U);
  std::map<std::pair<int, int>, int> owners;
  int borders = 0;
  for (const auto& [rank, one] : tiles) {
    for (int row = one.area.top; row < one.area.bottom; ++row) {
      for (int column = one.area.left; column < one.area.right; ++column) ++owners[{row, column}];
    }
    for (int side = 0; side < 4; ++side) {
      if (one.beside[side] == MPI_PROC_NULL) continue;
      ++borders;
      const Owned& beyond = tiles.at(one.beside[side]);
      EXPECT_EQ(beyond.beside[side ^ 1], rank);  // above and below are 0 and 1, left and right 2 and 3
      if (side == 1) {
        EXPECT_EQ(beyond.area.top, one.area.bottom);
      } else if (side == 3) {
        EXPECT_EQ(beyond.area.left, one.area.right);
      }
    }
  }
  EXPECT_EQ(borders, 14);
  EXPECT_EQ(owners.size(), static_cast<std::size_t>(rows * columns));
  for (const auto& [cell, count] : owners) {
    EXPECT_EQ(count, 1) << cell.first << ' ' << cell.second;
    EXPECT_TRUE(cell.first >= 1 && cell.first <= rows && cell.second >= 1 && cell.second <= columns);
  }
}

/// What this process does before it waits for the end of an exchange.
std::function<void()> before_waiting;

/// This test starts itself again as two ranks, each with 6 x 12 cells.
TEST(mpi_halo_exchange_order, the_inner_cells_are_computed_before_an_exchange_during_the_work_has_ended) {
  if (again_as_ranks(2, "mpi_halo_exchange_test")) return;
  const mpi::Environment world(2);
  Tile tile(MPI_COMM_WORLD, 12, 12);
  // An inner cell with inner neighbours: what is computed from it must have been computed when the exchange ends.
  double& cell = const_cast<double&>(tile.now().at(tile.area().top + 2, 5));
  before_waiting = [&] { cell += 1000; };
  exchange_during_work(tile);
  before_waiting = nullptr;
  EXPECT_EQ(differing(tile.now(), heat_serially(12, 12, 1)), 0);
}

/// The lines of the pictures, which are side by side.
std::vector<std::string> pictures_of(const Result& result) { return result.lines_with("^[.#|+-]+( +[.#|+-]+)*$"); }

TEST(mpi_halo_exchange, without_an_exchange_the_error_gets_one_cell_further_in_each_step) {
  const int rows = 12, columns = 40;  // on four ranks: the lines between tiles are below row 6 and right of column 20
  for (const int steps : {0, 1, 4, 6}) {
    const auto result = run_ranks(
        4, "mpi_halo_exchange",
        {"--rows", std::to_string(rows), "--columns", std::to_string(columns), "--steps", std::to_string(steps)});
    std::vector<std::string> expected(rows + 1);
    std::string heads, titles;
    struct Picture {
      int step;
      bool exchange;
    };
    for (const auto& [step, exchange] : {Picture{steps - 1, false}, Picture{steps, false}, Picture{steps, true}}) {
      if (step < 0) continue;
      int wrong = 0;
      for (int row = 1; row <= rows; ++row) {
        std::string& line = expected[row <= 6 ? row - 1 : row];
        if (!line.empty()) line += "   ";
        for (int column = 1; column <= columns; ++column) {
          const int from_line = std::min(row <= 6 ? 7 - row : row - 6, column <= 20 ? 21 - column : column - 20);
          const bool is_wrong = !exchange && from_line < step;
          if (column == 21) line += '|';
          line += is_wrong ? '#' : '.';
          wrong += is_wrong;
        }
      }
      const std::string half(20, '-');
      expected[6] += (expected[6].empty() ? "" : "   ") + half + '+' + half;
      const std::string between = titles.empty() ? "" : " +";
      heads += between + (exchange ? "with an exchange" : "without an exchange");
      titles += between + "step " + std::to_string(step) + ": " + std::to_string(wrong) + " wrong";
    }
    EXPECT_EQ(result.lines_with("^" + heads + "$").size(), 1U) << heads << '\n' << result.text();
    EXPECT_EQ(pictures_of(result), expected) << result.text();
    EXPECT_EQ(result.lines_with("^" + titles + "$").size(), 1U) << titles << '\n' << result.text();
  }
}

TEST(mpi_halo_exchange, one_rank_needs_no_exchange) {
  const auto result = run_ranks(1, "mpi_halo_exchange", {"--steps", "20", "--columns", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^step 19: 0 wrong +step 20: 0 wrong +step 20: 0 wrong$").size(), 1U) << result.text();
  EXPECT_EQ(pictures_of(result),
            std::vector<std::string>(8, "...                        ...                        ..."))
      << result.text();
}

TEST(mpi_halo_exchange, a_large_plate_is_not_drawn) {
  for (const std::string side : {"--rows", "--columns"}) {
    const auto result = run_ranks(2, "mpi_halo_exchange", {side, "41"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(pictures_of(result).empty()) << result.text();
  }
}

TEST(mpi_halo_exchange, a_plate_with_fewer_cells_than_ranks_is_refused) {
  const auto result = run_ranks(5, "mpi_halo_exchange", {"--rows", "4"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_halo_exchange: the plate has fewer rows or columns than ranks, 5"));
}

TEST(mpi_halo_exchange, the_pitfall_is_right_with_one_rank_alone) {
  const auto alone = run_ranks(1, "mpi_halo_exchange_early");
  EXPECT_EQ(alone.exit_code, 0) << alone.text();
  EXPECT_THAT(alone.out, testing::ElementsAre("all cells are right"));
  EXPECT_EQ(run_ranks(2, "mpi_halo_exchange_early").exit_code, 1);
}

TEST(mpi_halo_exchange, an_interrupt_ends_all_ranks) {
  const auto result = run_ranks(3, "mpi_halo_exchange", {"--steps", "1000000"}, {.interrupt_after_ms = 400});
  EXPECT_FALSE(result.timed_out) << result.text();
  EXPECT_NE(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
}

/// This test starts itself again as two ranks; the plate is cut between its rows.
TEST(mpi_halo_exchange_in_memory, open_mpi_moves_nothing_while_a_rank_makes_no_call) {
#ifndef OPEN_MPI
  GTEST_SKIP() << "another library may move data without the rank";
#endif
  if (again_as_ranks(2, "mpi_halo_exchange_test")) return;
  const mpi::Environment world(2);
  int* stage = nullptr;  // memory of both ranks, by which they keep in step without a call of MPI
  int unit = 0;
  MPI_Aint bytes = 0;
  MPI_Win window;
  MPI_CHECK(MPI_Win_allocate_shared(world.rank() == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                                    &stage, &window));
  MPI_CHECK(MPI_Win_shared_query(window, 0, &bytes, &unit, &stage));
  const std::atomic_ref<int> now_at(*stage);
  const auto wait_for = [&](int value) {
    while (now_at != value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  for (const int columns : {10, 100'000}) {  // short rows are copied at once, long ones are fetched
    Tile tile(MPI_COMM_WORLD, 4, columns);
    for (int step = 0; step < 2; ++step) exchange_then_work(tile);
    const double& in_halo = tile.now().at(3, 7);  // on rank 0, a copy of a cell of rank 1
    const double right = heat_serially(4, columns, 2).at(3, 7);
    if (world.rank() == 0) now_at = 0;
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    if (world.rank() == 0) {
      tile.begin_exchange();
      now_at = 1;
      wait_for(2);  // rank 1 has sent
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_NE(*const_cast<const volatile double*>(&in_halo), right) << columns << " columns";
      now_at = 3;
      tile.end_exchange();
      EXPECT_EQ(in_halo, right) << columns << " columns";
    } else {
      wait_for(1);
      tile.begin_exchange();
      now_at = 2;
      wait_for(3);
      tile.end_exchange();
    }
  }
  MPI_CHECK(MPI_Win_free(&window));
}

/// Half a wave of a sine in either direction keeps its form: each step leaves the same share of it.
TEST(mpi_halo_exchange_heat, a_sine_wave_shrinks_as_the_formula_says) {
  const int rows = 30, columns = 50, steps = 40;
  const double down = std::numbers::pi / (rows + 1), across = std::numbers::pi / (columns + 1);
  const auto wave = [&](int row, int column) { return std::sin(down * row) * std::sin(across * column); };
  Cells now({1, rows + 1, 1, columns + 1}), next = now;
  for (int row = 0; row <= rows + 1; ++row) {
    for (int column = 0; column <= columns + 1; ++column)
      now.at(row, column) = next.at(row, column) = wave(row, column);
  }
  for (int step = 0; step < steps; ++step) {
    heat(now, next, now.area());
    std::swap(now, next);
  }
  const double left = std::pow(0.5 + 0.25 * (std::cos(down) + std::cos(across)), steps);
  for (int row = 1; row <= rows; ++row) {
    for (int column = 1; column <= columns; ++column) {
      EXPECT_NEAR(now.at(row, column), left * wave(row, column), 1e-12);
    }
  }
}

TEST(mpi_halo_exchange_heat, the_serial_plate_takes_so_many_steps) {
  Cells now({1, 11, 1, 21}), next = now;
  EXPECT_EQ(differing(now, heat_serially(10, 20, 0)), 0);
  heat(now, next, now.area());
  EXPECT_EQ(differing(next, heat_serially(10, 20, 1)), 0);
  EXPECT_GT(differing(next, heat_serially(10, 20, 2)), 0);
}

}  // namespace

/// This stands before MPI's own function (MPI 4.0, chapter 15).
extern "C" int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (before_waiting) before_waiting();
  return PMPI_Waitall(count, requests, statuses);
}
