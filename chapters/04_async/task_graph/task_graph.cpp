// Task graph
//
// A table is filled block by block. Each block needs the block above it and the one to its left. One thread fills the
// table in order; all threads fill it one diagonal after another, and by a task graph, which starts each block as soon
// as the two that it needs are full. The program prints how many times as fast as one thread the two are: for blocks
// that take equally long, and for blocks of which every seventh takes much longer.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_graph/task_graph.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o task_graph
// Run:     task_graph [--letters N] [--block N]

#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
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
    // the rows that have a block on this diagonal
    const int first = std::max(0, diagonal - columns + 1), last = std::min(diagonal, rows - 1);
    tbb::parallel_for(first, last + 1, [&](int row) { table.fill_block(row, diagonal - row, size); });
  }
}

void fill_by_graph(Table& table, int size) {
  const int columns = table.block_columns(size);
  flow::graph graph;
  std::deque<flow::continue_node<flow::continue_msg>> nodes;  // a vector would copy nodes as it grows, without edges
  const auto node = [&](int row, int column) -> auto& { return nodes[row * columns + column]; };
  for (int row = 0; row < table.block_rows(size); ++row) {
    for (int column = 0; column < columns; ++column) {
      nodes.emplace_back(graph, [=, &table](const flow::continue_msg&) { table.fill_block(row, column, size); });
      if (row > 0) flow::make_edge(node(row - 1, column), node(row, column));
      if (column > 0) flow::make_edge(node(row, column - 1), node(row, column));
    }
  }
  nodes.front().try_put({});  // an empty message: no edge leads to the first block
  graph.wait_for_all();
}

}  // namespace

int main(int argc, char** argv) {
  int letters = 3000, size = 300;
  cookbook::Options options("Fill a table in a wave, one diagonal after another and by a task graph");
  options.add("letters", letters, "length of the two texts that are compared", 1, 10'000);
  options.add("block", size, "rows and columns of a block", 10, 10'000);
  options.parse(argc, argv);

  std::mt19937 random(1);
  const std::string down = random_letters(letters, random), across = random_letters(letters, random);
  struct Form {
    const char* name;
    void (*fill)(Table&, int size);
    double equal = 1e9, slow = 1e9;  // the best times, in seconds
  };
  std::vector<Form> forms = {{"one thread, in order", fill_in_order},
                             {"one diagonal after another", fill_by_diagonals},
                             {"graph", fill_by_graph}};
  std::vector<std::vector<int>> in_order;  // the cells, as one thread fills them
  int same = 0;
  for (const bool some_are_slow : {false, true}) {
    for (int round = 0; round < 5; ++round) {  // the forms take turns, so that other programs disturb all alike
      for (Form& form : forms) {
        Table table(down, across, some_are_slow ? 20 : 1);
        const cookbook::Stopwatch watch;
        form.fill(table, size);
        double& best = some_are_slow ? form.slow : form.equal;
        best = std::min(best, watch.seconds());
        if (in_order.empty()) in_order = table.cells;
        same += table.cells == in_order;
      }
    }
  }

  const Table table(down, across);
  const std::string blocks = fmt::format("{} equal blocks", table.block_rows(size) * table.block_columns(size));
  cookbook::println("{:<26}{:>20}{:>20}", "best of five runs", blocks, "every 7th is slow");
  const Form& one = forms[0];
  cookbook::println("{:<26}{:17.1f} ms{:17.1f} ms", one.name, one.equal * 1e3, one.slow * 1e3);
  for (const Form& form : {forms[1], forms[2]}) {
    cookbook::println("{:<26}{:18.2f} x{:18.2f} x", form.name, one.equal / form.equal, one.slow / form.slow);
  }
  cookbook::Checks checks;
  checks.equal("tables of 30 that are equal to that of one thread", same, 30);  // 2 columns, 5 rounds, 3 forms
  return checks.exit_code();
}
