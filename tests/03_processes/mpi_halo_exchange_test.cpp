// The tiles that the ranks name, the bits of the result for many shapes, and the heat equation beside a formula.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <regex>
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

/// What a rank says about its tile; `bottom` and `right` belong to it.
struct Named {
  int top, bottom, left, right;
  std::map<std::string, std::string> neighbours;
};

std::vector<Named> tiles_of(const Result& result) {
  std::vector<Named> tiles;
  const std::regex form(
      "rank (\\d+): rows (\\d+) to (\\d+), columns (\\d+) to (\\d+); above (\\S+) below (\\S+) left (\\S+) right "
      "(\\S+)");
  for (const std::string& line : result.out) {
    std::smatch match;
    if (!std::regex_match(line, match, form)) continue;
    EXPECT_EQ(std::stoul(match[1]), tiles.size());
    tiles.push_back({std::stoi(match[2]),
                     std::stoi(match[3]),
                     std::stoi(match[4]),
                     std::stoi(match[5]),
                     {{"above", match[6]}, {"below", match[7]}, {"left", match[8]}, {"right", match[9]}}});
  }
  return tiles;
}

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
    EXPECT_TRUE(result.has_line("ok    cells of all tiles together: " + std::to_string(rows * columns)));
    EXPECT_TRUE(result.has_line("ok    wrong cells, exchange before the work: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong cells, exchange during the work: 0")) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_halo_exchange, each_cell_is_in_one_tile_and_neighbours_name_each_other) {
  const auto result = run_ranks(6, "mpi_halo_exchange", {"--rows", "23", "--columns", "17", "--steps", "1"});
  const std::vector<Named> tiles = tiles_of(result);
  ASSERT_EQ(tiles.size(), 6U) << result.text();
  std::map<std::pair<int, int>, int> owners;
  int borders = 0;
  const std::map<std::string, std::string> opposite = {
      {"above", "below"}, {"below", "above"}, {"left", "right"}, {"right", "left"}};
  for (std::size_t rank = 0; rank < tiles.size(); ++rank) {
    const Named& tile = tiles[rank];
    for (int row = tile.top; row <= tile.bottom; ++row) {
      for (int column = tile.left; column <= tile.right; ++column) ++owners[{row, column}];
    }
    for (const auto& [side, other] : tile.neighbours) {
      if (other == "-") continue;
      ++borders;
      const Named& beyond = tiles.at(std::stoul(other));
      EXPECT_EQ(beyond.neighbours.at(opposite.at(side)), std::to_string(rank)) << result.text();
      if (side == "below") {
        EXPECT_EQ(beyond.top, tile.bottom + 1);
      } else if (side == "right") {
        EXPECT_EQ(beyond.left, tile.right + 1);
      }
    }
  }
  EXPECT_EQ(borders, 14) << result.text();
  EXPECT_EQ(owners.size(), 23U * 17U);
  for (const auto& [cell, count] : owners) EXPECT_EQ(count, 1) << cell.first << ' ' << cell.second;
}

/// The picture, after the line that says how many cells are wrong.
std::vector<std::string> picture_of(const Result& result) { return result.lines_with("^[.#]+$"); }

TEST(mpi_halo_exchange, without_an_exchange_the_error_gets_one_cell_further_in_each_step) {
  const int rows = 12, columns = 40;  // on four ranks: the lines between tiles are below row 6 and right of column 20
  for (const int steps : {0, 1, 2, 4, 6}) {
    const auto result = run_ranks(
        4, "mpi_halo_exchange",
        {"--rows", std::to_string(rows), "--columns", std::to_string(columns), "--steps", std::to_string(steps)});
    const std::vector<std::string> picture = picture_of(result);
    ASSERT_EQ(picture.size(), rows) << result.text();
    int wrong = 0;
    for (int row = 1; row <= rows; ++row) {
      ASSERT_EQ(picture[row - 1].size(), columns) << result.text();
      for (int column = 1; column <= columns; ++column) {
        const int from_line = std::min(row <= 6 ? 7 - row : row - 6, column <= 20 ? 21 - column : column - 20);
        const bool is_wrong = from_line < steps;
        EXPECT_EQ(picture[row - 1][column - 1], is_wrong ? '#' : '.') << result.text();
        wrong += is_wrong;
      }
    }
    EXPECT_TRUE(result.has_line("without an exchange " + std::to_string(wrong) + " cells are wrong after " +
                                std::to_string(steps) + " steps:"))
        << result.text();
  }
}

TEST(mpi_halo_exchange, one_rank_needs_no_exchange) {
  const auto result = run_ranks(1, "mpi_halo_exchange", {"--steps", "20"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(picture_of(result), std::vector<std::string>(8, std::string(40, '.'))) << result.text();
}

TEST(mpi_halo_exchange, a_large_plate_is_not_drawn) {
  const auto result = run_ranks(2, "mpi_halo_exchange", {"--rows", "41"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(picture_of(result).empty()) << result.text();
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
