// The program's output, the table from inside, and what the page says about flow graphs.

#include "04_async/task_graph/table.hpp"

#include <tbb/flow_graph.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

/// Letters in common, by another way than the recipe's: for each letter of `a`, where the subsequences of each length
/// end the earliest in `b` (the k-th entry is one past the end of the best one of length k + 1).
int in_common(const std::string& a, const std::string& b) {
  std::vector<std::size_t> ends;
  for (const char letter : a) {
    std::size_t search_from = 0;  // the end, before this letter, of the best one that is one shorter
    for (std::size_t k = 0; k <= ends.size(); ++k) {
      const std::size_t found = b.find(letter, search_from);
      if (found == std::string::npos) break;
      if (k == ends.size()) {
        ends.push_back(found + 1);
        break;
      }
      search_from = ends[k];
      ends[k] = std::min(ends[k], found + 1);
    }
  }
  return static_cast<int>(ends.size());
}

TEST(task_graph, is_right_for_any_size_and_block) {
  struct Case {
    int letters, block;
  };
  // One letter; less than a block; blocks that do not divide the table; many small blocks.
  for (const auto& [letters, block] :
       std::vector<Case>{{1, 10}, {49, 50}, {333, 10}, {333, 111}, {1000, 300}, {1201, 50}}) {
    const auto result = run("task_graph", {"--letters", std::to_string(letters), "--block", std::to_string(block)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    tables of 30 that are equal to that of one thread: 30")) << result.text();
    const int rows = (letters - 1) / block + 1;
    EXPECT_EQ(result.captures("^best of five runs +(\\d+) equal blocks +every 7th is slow$"),
              std::vector<std::string>{std::to_string(rows * rows)});
    const std::string one = "^one thread, in order +";
    const auto equal = result.captures(one + "(\\d+\\.\\d) ms +\\d+\\.\\d ms$");
    const auto slow = result.captures(one + "\\d+\\.\\d ms +(\\d+\\.\\d) ms$");
    ASSERT_EQ(equal.size(), 1U) << result.text();
    ASSERT_EQ(slow.size(), 1U) << result.text();
    // The best of five runs: ten times as long still fits into the time of the program. (The times are rounded.)
    EXPECT_LT(5e-3 * (std::stod(equal[0]) + std::stod(slow[0]) - 0.1), result.seconds) << result.text();
    EXPECT_EQ(result.captures("^(.*?) +\\d+\\.\\d\\d x +\\d+\\.\\d\\d x$"),
              (std::vector<std::string>{"one diagonal after another", "graph"}))
        << result.text();
  }
}

TEST(task_graph, many_small_blocks_again_and_again) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(run("task_graph", {"--letters", "800", "--block", "10"}).exit_code, 0);
  }
}

TEST(task_graph_timing, the_graph_gains_most_with_slow_blocks) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  const auto result = run("task_graph");
  const auto slow = result.captures("^.*[a-z] +\\d+\\.\\d\\d x +(\\d+\\.\\d\\d) x$");  // the diagonals, the graph
  ASSERT_EQ(slow.size(), 2U) << result.text();
  EXPECT_GT(std::stod(slow[1]), 1.1 * std::stod(slow[0])) << result.text();
}

TEST(task_graph_timing, the_graph_loses_with_very_small_blocks) {
  const auto result = run("task_graph", {"--letters", "1000", "--block", "10"});
  const auto equal = result.captures("^.*[a-z] +(\\d+\\.\\d\\d) x +\\d+\\.\\d\\d x$");
  ASSERT_EQ(equal.size(), 2U) << result.text();
  EXPECT_LT(std::stod(equal[1]), 1) << result.text();
}

TEST(task_graph_flow_graph, nodes_of_a_cycle_never_run_and_the_graph_does_not_wait_for_them) {
  tbb::flow::graph graph;
  int runs = 0;
  const auto count = [&](const tbb::flow::continue_msg&) { ++runs; };
  tbb::flow::continue_node<tbb::flow::continue_msg> first(graph, count), a(graph, count), b(graph, count);
  tbb::flow::make_edge(first, a);
  tbb::flow::make_edge(b, a);
  tbb::flow::make_edge(a, b);
  first.try_put({});
  graph.wait_for_all();
  EXPECT_EQ(runs, 1);
}

TEST(task_graph_flow_graph, can_run_again) {
  tbb::flow::graph graph;
  int sum = 0;
  tbb::flow::continue_node<tbb::flow::continue_msg> first(graph, [&](const tbb::flow::continue_msg&) { sum += 1; });
  tbb::flow::continue_node<tbb::flow::continue_msg> second(graph, [&](const tbb::flow::continue_msg&) { sum *= 10; });
  tbb::flow::make_edge(first, second);
  for (const int expected : {10, 110, 1110}) {
    first.try_put({});
    graph.wait_for_all();
    EXPECT_EQ(sum, expected);
  }
}

TEST(task_graph_table, a_block_that_is_filled_too_early_shows) {
  Table in_order("GATTACA", "GCATGCA"), early = in_order;
  for (const auto& [row, column] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) in_order.fill_block(row, column, 4);
  for (const auto& [row, column] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) early.fill_block(row, column, 4);
  EXPECT_EQ(in_order.cells.back().back(), in_common("GATTACA", "GCATGCA"));
  EXPECT_NE(early.cells, in_order.cells);
}

TEST(task_graph_table, counts_the_letters_in_common_whatever_the_block) {
  for (const int letters : {1, 49, 333}) {
    std::mt19937 random(1);
    const std::string down = random_letters(letters, random), across = random_letters(letters, random);
    for (const int block : {10, 50, 111}) {
      Table table(down, across, 2);
      for (int row = 0; row < table.block_rows(block); ++row) {
        for (int column = 0; column < table.block_columns(block); ++column) table.fill_block(row, column, block);
      }
      EXPECT_EQ(table.cells.back().back(), in_common(down, across)) << letters << ", in blocks of " << block;
    }
  }
}

TEST(task_graph_table, every_seventh_block_is_filled_so_many_times) {
  const std::string text(700, 'A');
  Table table(text, text, 1'000);
  const auto seconds = [&](int row, int column) {  // the processor's time, which other programs do not use up
    const std::clock_t start = std::clock();
    table.fill_block(row, column, 100);
    return double(std::clock() - start) / CLOCKS_PER_SEC;
  };
  std::vector<double> times;
  for (int row = 0; row < 7; ++row) {
    for (int column = 0; column < 7; ++column) times.push_back(seconds(row, column));
  }
  std::sort(times.begin(), times.end());
  EXPECT_GT(times[42], 50 * times[24]) << "the shortest of the seven slow ones, and the median";
}

TEST(task_graph_table, has_as_many_blocks_as_it_takes_and_no_empty_one) {
  for (int letters = 1; letters <= 12; ++letters) {
    const std::string text(letters, 'A');
    const Table high(text, "A"), wide("A", text);
    for (int size = 1; size <= 13; ++size) {
      int blocks = 0;
      for (int first = 0; first < letters; first += size) ++blocks;
      EXPECT_EQ(high.block_rows(size), blocks) << letters << " rows in blocks of " << size;
      EXPECT_EQ(wide.block_columns(size), blocks) << letters << " columns in blocks of " << size;
      EXPECT_EQ(high.block_columns(size), 1);
      EXPECT_EQ(wide.block_rows(size), 1);
    }
  }
}

TEST(task_graph_table, knows_the_example_of_its_comment) {
  Table table("GATTAC", "GCAC");
  EXPECT_EQ(table.block_rows(4), 2);
  EXPECT_EQ(table.block_columns(4), 1);
  table.fill_block(0, 0, 4);
  table.fill_block(1, 0, 4);
  EXPECT_EQ(table.cells.back().back(), 3);
}

}  // namespace
