// Task graph
//
// A table is filled block by block. Each block needs the block above it and the one to its left, so the work goes
// through the table like a wave, from one corner to the other. A task graph has one node per block and one edge per
// need; oneTBB runs each node as soon as all nodes before it have run. Beside it, the same by hand: threads that wait
// for each other's rows.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_graph/task_graph.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o task_graph
// Run:     task_graph [--letters N] [--block N] [--threads N]

#include <tbb/flow_graph.h>

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

void fill_by_graph(Table& table, int size) {
  const int columns = table.block_columns(size);
  flow::graph graph;
  std::deque<flow::continue_node<flow::continue_msg>> nodes;  // not a vector, which would have to move them
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
  int letters = 1500, size = 100, threads = 4;
  cookbook::Options options("Fill a table in a wave, by a task graph and by hand");
  options.add("letters", letters, "length of the two texts that are compared", 1, 10'000);
  options.add("block", size, "rows and columns of a block", 10, 10'000);
  options.add("threads", threads, "threads of the form by hand", 1, 64);
  options.parse(argc, argv);

  std::mt19937 random(1);
  const std::string down = random_letters(letters, random), across = random_letters(letters, random);
  Table in_order(down, across), by_graph(down, across), by_hand(down, across);
  const auto timed = [](const std::string& form, auto fill) {
    const cookbook::Stopwatch watch;
    fill();
    cookbook::println("{}: {:.1f} ms", form, watch.seconds() * 1e3);
  };
  timed("one thread, blocks in order", [&] { fill_in_order(in_order, size); });
  timed("graph, a thread per core", [&] { fill_by_graph(by_graph, size); });
  timed(fmt::format("by hand, {} threads", threads), [&] { fill_by_hand(by_hand, size, threads); });

  cookbook::println("{} of {} letters in common", in_order.cells.back().back(), letters);
  cookbook::Checks checks;
  checks.that("the graph fills all cells with the same numbers", by_graph.cells == in_order.cells);
  checks.that("the threads fill all cells with the same numbers", by_hand.cells == in_order.cells);
  return checks.exit_code();
}
