// Halo exchange: the program seen from outside.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::Folder;
using test_support::Result;
using test_support::run_ranks;

using Arguments = std::vector<std::string>;

/// A plate, with little to be timed.
Arguments plate(int rows, int columns, int steps) {
  return {
      "--rows", std::to_string(rows), "--columns", std::to_string(columns), "--steps", std::to_string(steps), "--side",
      "32",     "--link-us",          "0"};
}

std::string zeros(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += i > 0 ? ", 0" : "0";
  return "[" + text + "]";
}

/// What a rank says about itself.
struct Tile {
  long top, bottom, left, right;  // the last row and column included
  std::map<std::string, int> neighbours;
};

std::vector<Tile> tiles_of(const Result& result) {
  std::vector<Tile> tiles;
  const std::regex form("rank (\\d+): rows (\\d+) to (\\d+), columns (\\d+) to (\\d+); neighbours(.*)");
  const std::regex neighbour("(above|below|left|right) (\\d+)");
  for (const std::string& line : result.out) {
    std::smatch match;
    if (!std::regex_match(line, match, form)) continue;
    EXPECT_EQ(std::stoul(match[1]), tiles.size());
    tiles.push_back({std::stol(match[2]), std::stol(match[3]), std::stol(match[4]), std::stol(match[5]), {}});
    const std::string rest = match[6];
    for (std::sregex_iterator it(rest.begin(), rest.end(), neighbour), end; it != end; ++it) {
      tiles.back().neighbours[(*it)[1]] = std::stoi((*it)[2]);
    }
  }
  return tiles;
}

std::vector<std::string> lines_with(const std::string& file, const std::string& word) {
  std::vector<std::string> found;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.find(word) != std::string::npos) found.push_back(line);
  }
  return found;
}

TEST(mpi_halo_exchange, the_bits_are_those_of_the_serial_result_for_every_number_of_ranks) {
  struct Case {
    int ranks, rows, columns, steps;
  };
  // One run with n ranks compares 1, 2, ... n. In the third case, 7 ranks have tiles of one row.
  for (const auto& [ranks, rows, columns, steps] :
       {Case{9, 203, 301, 60}, Case{9, 61, 10, 101}, Case{9, 9, 9, 50}, Case{1, 1, 1, 3}}) {
    const auto result = run_ranks(ranks, "mpi_halo_exchange", plate(rows, columns, steps));
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    exchange, then work: " + zeros(ranks))) << result.text();
    EXPECT_TRUE(result.has_line("ok    exchange during work: " + zeros(ranks))) << result.text();
    EXPECT_TRUE(result.has_line("ok    a sine wave shrinks as the formula says, error below 1e-9: yes"));
    EXPECT_TRUE(result.has_line("ok    cells that differ after the timed steps, four ways: [0, 0, 0, 0]"));
    EXPECT_TRUE(result.has_line("ok    cells that differ after the timed steps, ranks 1 to " + std::to_string(ranks) +
                                ": " + zeros(ranks)))
        << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_halo_exchange, each_cell_is_in_one_tile_and_neighbours_know_each_other) {
  const std::map<std::string, std::string> opposite = {
      {"above", "below"}, {"below", "above"}, {"left", "right"}, {"right", "left"}};
  for (const int ranks : {6, 7}) {
    const auto result = run_ranks(ranks, "mpi_halo_exchange", plate(23, 17, 1));
    const std::vector<Tile> tiles = tiles_of(result);
    ASSERT_EQ(tiles.size(), static_cast<std::size_t>(ranks)) << result.text();
    std::map<std::pair<long, long>, int> owners;
    std::size_t borders = 0;
    for (std::size_t rank = 0; rank < tiles.size(); ++rank) {
      const Tile& tile = tiles[rank];
      for (long row = tile.top; row <= tile.bottom; ++row) {
        for (long column = tile.left; column <= tile.right; ++column) ++owners[{row, column}];
      }
      borders += tile.neighbours.size();
      for (const auto& [where, other] : tile.neighbours) {
        const Tile& beyond = tiles[static_cast<std::size_t>(other)];
        EXPECT_EQ(beyond.neighbours.at(opposite.at(where)), static_cast<int>(rank)) << result.text();
        const bool below = where == "below", right = where == "right";
        if (!below && !right) continue;
        EXPECT_EQ(beyond.top, below ? tile.bottom + 1 : tile.top) << result.text();
        EXPECT_EQ(beyond.left, right ? tile.right + 1 : tile.left) << result.text();
      }
    }
    EXPECT_EQ(borders, ranks == 6 ? 14U : 12U) << result.text();
    EXPECT_EQ(owners.size(), 23U * 17U);
    for (const auto& [cell, count] : owners) EXPECT_EQ(count, 1) << cell.first << ' ' << cell.second;
  }
}

TEST(mpi_halo_exchange, the_picture_is_the_same_for_any_number_of_ranks_but_for_the_tiles) {
  const Folder scratch;
  std::vector<std::vector<std::string>> pictures;
  for (const int ranks : {1, 4}) {
    const std::string file = (scratch.path / (std::to_string(ranks) + ".svg")).string();
    Arguments arguments = plate(101, 151, 200);
    arguments.insert(arguments.end(), {"--out", file});
    const auto result = run_ranks(ranks, "mpi_halo_exchange", arguments);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    pictures.push_back(lines_with(file, "<path"));
    EXPECT_EQ(lines_with(file, ">rank ").size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(lines_with(file, "</svg>").size(), 1U);
    EXPECT_LT(std::filesystem::file_size(file), 60'000U);
  }
  EXPECT_GT(pictures[0].size(), 10U);  // colours
  EXPECT_EQ(pictures[0], pictures[1]);
}

TEST(mpi_halo_exchange, a_picture_that_cannot_be_written_is_named) {
  Arguments arguments = plate(20, 20, 1);
  arguments.insert(arguments.end(), {"--out", "/no/such/folder/heat.svg"});
  const auto result = run_ranks(2, "mpi_halo_exchange", arguments);
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_halo_exchange: cannot write /no/such/folder/heat.svg"));
  EXPECT_EQ(result.left_behind, 0);
}

TEST(mpi_halo_exchange, a_plate_with_fewer_cells_than_ranks_is_rejected) {
  const auto result = run_ranks(5, "mpi_halo_exchange", plate(4, 100, 1));
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_halo_exchange: 5 ranks are too many: each side of a plate must "
                                               "have a cell for each of them"));
}

TEST(mpi_halo_exchange, both_forms_and_all_numbers_of_ranks_are_timed) {
  const auto result = run_ranks(4, "mpi_halo_exchange", {"--steps", "10", "--side", "256"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^(over a link of 200 us: )?exchange(, then| during) work +[\\d.]+ us").size(), 4U)
      << result.text();
  EXPECT_THAT(result.captures("^ranks: (\\d) +[\\d.]+ M cells/s"),
              testing::ElementsAre("1", "2", "3", "4", "1", "2", "3", "4"))
      << result.text();
  EXPECT_EQ(result.lines_with("^memory read and written.* M cells/s .*100 %").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^serial code.* M cells/s .*1.00 x").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^of one over the link the work hides -?\\d+ %$").size(), 1U) << result.text();
}

TEST(mpi_halo_exchange, a_failed_check_hides_figures_and_picture) {
  const Folder scratch;
  Arguments arguments = plate(20, 20, 1);
  arguments.insert(arguments.end(), {"--out", (scratch.path / "heat.svg").string()});
  const auto result = run_ranks(4, "mpi_halo_exchange", arguments, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.lines_with("cells/s| us").empty()) << result.text();
  EXPECT_FALSE(std::filesystem::exists(scratch.path / "heat.svg"));
}

TEST(mpi_halo_exchange, an_interrupt_ends_all_ranks) {
  const auto result = run_ranks(4, "mpi_halo_exchange", plate(203, 301, 1'000'000), {.interrupt_after_ms = 600});
  EXPECT_FALSE(result.timed_out) << result.text();
  EXPECT_NE(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0) << result.text();
}

TEST(mpi_halo_exchange, the_pitfall_is_right_with_one_rank_and_wrong_with_more) {
  for (const int ranks : {2, 4}) {
    const auto result = run_ranks(ranks, "mpi_halo_exchange_early");
    EXPECT_EQ(result.exit_code, 1) << result.text();
    EXPECT_TRUE(result.has_line("ranks: 1, cells that differ from the serial result: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^ranks: " + std::to_string(ranks) + ", .*: [1-9]").size(), 1U) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

}  // namespace
