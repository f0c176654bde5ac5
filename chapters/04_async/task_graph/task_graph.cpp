// Task graph
//
// A table is filled block by block. Each block needs the block above it and the one to its left, so the work goes
// through the table like a wave, from one corner to the other. It is done by one thread, one diagonal after another by
// all threads, by a task graph, and by threads that wait for each other's rows. The program prints the times, with
// small blocks, with larger ones, and with a single block.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_graph/task_graph.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o task_graph
// Run:     task_graph [--letters N] [--block N] [--threads N]

#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "table.hpp"

namespace flow = tbb::flow;

namespace {

/// One block after another, row by row: the block above and the one to the left are always full.
void fill_in_order(Table& table, int size) {
  for (int row = 0; row < table.block_rows(size); ++row) {
    for (int column = 0; column < table.block_columns(size); ++column) table.fill_block(row, column, size);
  }
}

/// The simplest parallel form: the blocks of a diagonal at the same time, and no block of the next one before all of
/// them are full.
void fill_by_diagonals(Table& table, int size) {
  const int rows = table.block_rows(size), columns = table.block_columns(size);
  for (int diagonal = 0; diagonal < rows + columns - 1; ++diagonal) {
    const int first = std::max(0, diagonal - columns + 1), last = std::min(diagonal, rows - 1);
    tbb::parallel_for(first, last + 1, [&](int row) { table.fill_block(row, diagonal - row, size); });
  }
}

void fill_by_graph(Table& table, int size) {
  const int columns = table.block_columns(size);
  flow::graph graph;
  std::deque<flow::continue_node<flow::continue_msg>> nodes;  // a vector would copy nodes as it grows, without edges
  for (int row = 0; row < table.block_rows(size); ++row) {
    for (int column = 0; column < columns; ++column) {
      nodes.emplace_back(graph, [=, &table](const flow::continue_msg&) { table.fill_block(row, column, size); });
      if (row > 0) flow::make_edge(nodes[(row - 1) * columns + column], nodes.back());
      if (column > 0) flow::make_edge(nodes[row * columns + column - 1], nodes.back());
    }
  }
  nodes.front().try_put({});  // an empty message: no edge leads to the first block
  graph.wait_for_all();
}

/// Each thread takes a row of blocks and fills it from left to right, so the block to the left is always full. For the
/// one above it looks at the number of blocks that are full in that row.
void fill_by_hand(Table& table, int size, int threads) {
  std::vector<std::atomic<int>> full(table.block_rows(size));
  std::atomic<int> next_row = 0;
  const auto fill_rows = [&] {
    for (int row; (row = next_row++) < table.block_rows(size);) {
      for (int column = 0; column < table.block_columns(size); ++column) {
        if (row > 0) {
          for (int seen; (seen = full[row - 1]) <= column;) full[row - 1].wait(seen);
        }
        table.fill_block(row, column, size);
        ++full[row];
        full[row].notify_one();  // only the thread of the next row can be waiting
      }
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(fill_rows);
}

}  // namespace

int main(int argc, char** argv) {
  int letters = 3000, size = 100, threads = 4;
  cookbook::Options options("Fill a table in a wave, by a task graph and by hand");
  options.add("letters", letters, "length of the two texts that are compared", 1, 10'000);
  options.add("block", size, "rows and columns of a block, in the second column", 10, 10'000);
  options.add("threads", threads, "threads of the form by hand", 1, 64);
  options.parse(argc, argv);

  std::mt19937 random(1);
  const std::string down = random_letters(letters, random), across = random_letters(letters, random);
  const std::vector<int> sizes = {10, size, letters};  // rows and columns of a block

  std::vector<std::vector<int>> in_order;  // the cells, as one thread fills them
  int same = 0;
  const auto row = [&](const std::string& form, auto fill) {
    std::string line = fmt::format("{:<28}", form);
    for (const int block : sizes) {
      double best = 1e9;
      for (int i = 0; i < 3; ++i) {
        Table table(down, across);
        const cookbook::Stopwatch watch;
        fill(table, block);
        best = std::min(best, watch.seconds());
        if (in_order.empty()) in_order = table.cells;
        same += table.cells == in_order;
      }
      line += fmt::format("{:9.2f} ms", best * 1e3);
    }
    cookbook::println("{}", line);
  };
  cookbook::println("cells along a block's side  {:>12}{:>12}{:>12}", sizes[0], sizes[1], sizes[2]);
  row("one thread, blocks in order", fill_in_order);
  row("one diagonal after another", fill_by_diagonals);
  row("graph", fill_by_graph);
  row(fmt::format("by hand, {} threads", threads),
      [&](Table& table, int block) { fill_by_hand(table, block, threads); });

  cookbook::println("{} of {} letters in common", in_order.back().back(), letters);
  cookbook::Checks checks;
  checks.equal("tables that are equal to that of one thread", same, 36);  // 4 forms, 3 sizes, 3 runs
  return checks.exit_code();
}
