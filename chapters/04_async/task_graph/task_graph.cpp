// Task graph
//
// Tasks that wait for each other's results, in two shapes. A wavefront: each block of a table follows from the block
// above it and the one to its left. A pipeline: texts are read in order, compared side by side, written in order, and
// only so many may be in it at a time. Each is told to oneTBB's flow graph as nodes and edges; beside it stand the same
// by hand, with threads. At the end: what each of them does in a second.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_graph/task_graph.cpp common/cookbook/*.cpp -lfmt -ltbb -pthread -o task_graph
// Run:     task_graph [--letters N] [--block N] [--texts N] [--tokens N] [--threads N]

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "pipeline.hpp"     // Job, run_alone(), run_by_flow_graph(), run_by_parallel_pipeline(), run_by_hand()
#include "subsequence.hpp"  // Table, common_letters()

namespace flow = tbb::flow;

namespace {

/// The sequential form: row by row, all that a block needs is there.
void fill_alone(Table& table, int size) {
  for (int row = 0; row < table.block_rows(size); ++row) {
    for (int column = 0; column < table.block_columns(size); ++column) table.fill_block(row, column, size);
  }
}

/// A node a block; it runs when a message has come along each edge that leads to it, and then sends one along each of
/// its own.
void fill_by_flow_graph(Table& table, int size) {
  const int rows = table.block_rows(size), columns = table.block_columns(size);
  flow::graph graph;
  std::deque<flow::continue_node<flow::continue_msg>> nodes;  // no vector: a node cannot move
  const auto node = [&](int row, int column) -> auto& {
    return nodes[static_cast<std::size_t>(row * columns + column)];
  };
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      nodes.emplace_back(graph, [=, &table](const flow::continue_msg&) { table.fill_block(row, column, size); });
      if (row > 0) flow::make_edge(node(row - 1, column), nodes.back());
      if (column > 0) flow::make_edge(node(row, column - 1), nodes.back());
    }
  }
  nodes.front().try_put(flow::continue_msg());
  graph.wait_for_all();
}

/// By hand: a thread takes a row of blocks and fills it from left to right, so the block to the left is always there.
/// For the one above it looks at that row's count.
void fill_by_hand(Table& table, int size, int threads) {
  const int rows = table.block_rows(size), columns = table.block_columns(size);
  std::vector<std::atomic<int>> filled(static_cast<std::size_t>(rows));  // blocks of each row
  std::atomic<int> next_row = 0;
  const auto fill_rows = [&] {
    for (int row; (row = next_row++) < rows;) {
      auto& in_this_row = filled[static_cast<std::size_t>(row)];
      for (int column = 0; column < columns; ++column) {
        if (row > 0) {
          auto& above = filled[static_cast<std::size_t>(row - 1)];
          for (int seen; (seen = above) <= column;) above.wait(seen);
        }
        table.fill_block(row, column, size);
        ++in_this_row;
        in_this_row.notify_one();  // nobody waits for it but the thread of the row below
      }
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(fill_rows);
}

/// What no wavefront can beat: each thread fills a table of its own, together as large as the one.
void fill_apart(std::deque<Table>& parts, int size) {
  std::vector<std::jthread> workers;
  for (Table& part : parts) workers.emplace_back([&] { fill_alone(part, size); });
}

/// The same for the pipeline: texts that have been read are compared, in any order.
void compare_only(const Job& job, std::vector<Text>& texts, int threads) {
  std::atomic<std::size_t> next = 0;
  const auto compare = [&] {
    for (std::size_t n; (n = next++) < texts.size();) job.compare(texts[n]);
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(compare);
}

/// Runs a form of the pipeline with 1, 2 and `tokens` tokens, and checks what it wrote.
void check_pipeline(cookbook::Checks& checks, const std::string& name, const std::vector<int>& expected, int tokens,
                    const std::function<void(Job&, int)>& form) {
  int wrong = 0;
  std::vector<int> above_limit, in_flight;
  for (const int limit : {1, 2, tokens}) {
    Job job(static_cast<int>(expected.size()));
    form(job, limit);
    if (job.written != expected) ++wrong;
    wrong += job.out_of_order;
    in_flight.push_back(job.max_in_flight);
    above_limit.push_back(std::max(0, job.max_in_flight - limit));
  }
  cookbook::println("{}: with 1, 2 and {} tokens up to {} texts in flight", name, tokens, fmt::join(in_flight, ", "));
  checks.equal(name + ", results wrong or out of order", wrong, 0);
  checks.equal(name + ", texts in flight above the limit", above_limit, {0, 0, 0});
}

/// Under a sanitizer everything is slow, so once is enough. And oneTBB has to do with one thread then: ThreadSanitizer
/// cannot see how its threads wait for each other inside the library, and would take that for races.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace

int main(int argc, char** argv) {
  int letters = 3000, size = 250, texts = 400, tokens = 8;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  cookbook::Options options("A wavefront and a pipeline as task graphs");
  options.add("letters", letters, "length of the two texts that the wavefront compares", 1, 10'000);
  options.add("block", size, "rows and columns of the table in a block", 50, 10'000);
  options.add("texts", texts, "texts that go through the pipeline", 1, 100'000);
  options.add("tokens", tokens, "texts that may be in the pipeline at a time", 1, 1'000);
  options.add("threads", threads, "threads of each parallel form", 1, 64);
  options.parse(argc, argv);
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism,
                                    sanitized ? 1 : static_cast<std::size_t>(threads));

  std::mt19937 random(1);
  const std::string down = random_letters(static_cast<std::size_t>(letters), random);
  const std::string across = random_letters(static_cast<std::size_t>(letters), random);
  Table expected(down, across), table(down, across);
  fill_alone(expected, size);
  const auto wrong_after = [&](auto fill) {
    table.poison();
    fill();
    return std::transform_reduce(table.cells().begin(), table.cells().end(), expected.cells().begin(), 0L,
                                 std::plus<>{}, std::not_equal_to<>{});
  };
  const auto wavefront_graph = [&] { fill_by_flow_graph(table, size); };
  const auto wavefront_by_hand = [&] { fill_by_hand(table, size, threads); };
  cookbook::Checks checks;
  checks.equal("letters in common, wavefront alone", int{expected.result()}, common_letters(down, across));
  checks.equal("cells wrong, flow graph", wrong_after(wavefront_graph), 0);
  checks.equal("cells wrong, by hand", wrong_after(wavefront_by_hand), 0);

  Job alone(texts);
  run_alone(alone);
  const long sum = std::accumulate(alone.written.begin(), alone.written.end(), 0L);
  cookbook::println("pipeline alone: {} texts, {} letters in common with the sample", alone.written.size(), sum);
  const auto pipeline_by_hand = [threads](Job& job, int limit) { run_by_hand(job, limit, threads); };
  check_pipeline(checks, "flow graph", alone.written, tokens, run_by_flow_graph);
  check_pipeline(checks, "parallel_pipeline", alone.written, tokens, run_by_parallel_pipeline);
  check_pipeline(checks, "by hand", alone.written, tokens, pipeline_by_hand);
  if (!checks.passed()) return 1;

  constexpr int rounds = sanitized ? 1 : 9;
  const double cells = static_cast<double>(letters) * letters;
  std::deque<Table> parts;
  const int part_rows = (letters + threads - 1) / threads;
  for (int i = 0; i < threads; ++i) parts.emplace_back(down.substr(0, static_cast<std::size_t>(part_rows)), across);
  cookbook::Figures wavefront("wavefront", cookbook::rate("M cells/s", 1e6));
  wavefront.percent_of("a table a thread, no waiting", "no waiting");
  wavefront.times("flow graph");
  wavefront.measure(
      {{"a table a thread, no waiting", 1.0 * threads * part_rows * letters, [&] { fill_apart(parts, size); }},
       {"one thread", cells, [&] { fill_alone(table, size); }},
       {"flow graph", cells, wavefront_graph},
       {"by hand", cells, wavefront_by_hand}},
      rounds);
  wavefront.print(checks);

  Job reader(texts);
  std::vector<Text> read(static_cast<std::size_t>(texts));
  for (Text& text : read) reader.read(text);
  const auto row = [&](const char* name, auto form) {
    return cookbook::Row(name, texts, [=] {
      Job job(texts);
      form(job);
    });
  };
  cookbook::Figures pipeline("pipeline", cookbook::rate("K texts/s", 1e3));
  pipeline.percent_of("comparing only, no waiting", "no waiting");
  pipeline.times("parallel_pipeline", "oneTBB's");
  pipeline.measure({{"comparing only, no waiting", 1.0 * texts, [&] { compare_only(reader, read, threads); }},
                    row("one thread", run_alone),
                    row("flow graph", [=](Job& job) { run_by_flow_graph(job, tokens); }),
                    row("parallel_pipeline", [=](Job& job) { run_by_parallel_pipeline(job, tokens); }),
                    row("by hand", [=](Job& job) { pipeline_by_hand(job, tokens); })},
                   rounds);
  pipeline.print(checks);
  return checks.exit_code();
}
