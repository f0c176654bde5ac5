// Pipeline
//
// Texts go through three stages: they are read in order, their letters are counted by several threads at the same time,
// and they are written in order. Reading is faster than counting, so without a limit the texts pile up in memory. With
// eight tokens no more than eight are in flight: a text needs a token to be read, and gives it back when it has been
// written. The program does this by a flow graph and by oneTBB's ready-made pipeline, beside one thread and a graph
// without a limit, and prints the times and how many texts were in flight.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_pipeline/task_pipeline.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o task_pipeline
// Run:     task_pipeline [--texts N] [--tokens N]

#include <tbb/flow_graph.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "job.hpp"

namespace flow = tbb::flow;

namespace {

void one_after_another(Job& job) {
  for (Text text; job.read(text);) {
    Job::count(text);
    job.write(text);
  }
}

/// Naive: try_put() never waits, so texts are read as long as there are any, and pile up before `count`.
void without_limit(Job& job) {
  using Pointer = std::shared_ptr<Text>;
  flow::graph graph;
  flow::function_node<Pointer, Pointer> count(graph, flow::unlimited, [](const Pointer& text) {
    Job::count(*text);
    return text;
  });
  flow::sequencer_node<Pointer> in_order(graph, [](const Pointer& text) -> std::size_t { return text->number; });
  flow::function_node<Pointer> write(graph, flow::serial, [&](const Pointer& text) { job.write(*text); });
  flow::make_edge(count, in_order);
  flow::make_edge(in_order, write);
  for (auto text = std::make_shared<Text>(); job.read(*text); text = std::make_shared<Text>()) count.try_put(text);
  graph.wait_for_all();
}

/// The graph is a ring. What goes round in it are pointers to texts, which are used again and again: the tokens.
void by_flow_graph(Job& job, int tokens) {
  flow::graph graph;
  flow::multifunction_node<Text*, std::tuple<Text*>> read(graph, flow::serial, [&](Text* text, auto& outputs) {
    if (job.read(*text)) std::get<0>(outputs).try_put(text);  // else nothing is sent on, and the ring comes to rest
  });
  flow::function_node<Text*, Text*> count(graph, flow::unlimited, [](Text* text) {
    Job::count(*text);
    return text;
  });
  flow::sequencer_node<Text*> in_order(graph, [](Text* text) -> std::size_t { return text->number; });
  flow::function_node<Text*, Text*> write(graph, flow::serial, [&](Text* text) {
    job.write(*text);
    return text;
  });
  flow::make_edge(flow::output_port<0>(read), count);
  flow::make_edge(count, in_order);
  flow::make_edge(in_order, write);
  flow::make_edge(write, read);

  std::vector<Text> places(tokens);
  for (Text& place : places) read.try_put(&place);
  graph.wait_for_all();
}

void by_parallel_pipeline(Job& job, int tokens) {
  const auto read = [&](tbb::flow_control& control) {
    Text text;
    if (!job.read(text)) control.stop();  // then the text that is returned is ignored
    return text;
  };
  const auto count = [](Text text) {
    Job::count(text);
    return text;
  };
  const auto write = [&](const Text& text) { job.write(text); };
  tbb::parallel_pipeline(tokens, tbb::make_filter<void, Text>(tbb::filter_mode::serial_in_order, read) &
                                     tbb::make_filter<Text, Text>(tbb::filter_mode::parallel, count) &
                                     tbb::make_filter<Text, void>(tbb::filter_mode::serial_in_order, write));
}

}  // namespace

int main(int argc, char** argv) {
  int texts = 400, tokens = 8;
  cookbook::Options options("A pipeline of three stages with a limit for what is in flight");
  options.add("texts", texts, "texts that go through the pipeline", 1, 100'000);
  options.add("tokens", tokens, "texts that may be in flight at the same time", 1, 1'000);
  options.parse(argc, argv);

  std::vector<int> expected;  // the results, in the order of reading
  int wrong = 0, above_limit = 0;
  cookbook::println("{:>6} texts                    time    in flight at most", texts);
  const auto row = [&](const std::string& form, auto run, int limit) {
    double best = 1e9;
    int in_flight = 0;
    for (int i = 0; i < 3; ++i) {
      Job job(texts);
      const cookbook::Stopwatch watch;
      run(job);
      best = std::min(best, watch.seconds());
      in_flight = std::max(in_flight, job.max_in_flight);
      if (expected.empty()) expected = job.written;
      wrong += job.written != expected;
    }
    above_limit += std::max(0, in_flight - limit);
    cookbook::println("{:<26}{:8.2f} ms{:21}", form, best * 1e3, in_flight);
  };
  row("one after another", one_after_another, 1);
  row("graph without a limit", without_limit, texts);
  row(
      fmt::format("graph, {} tokens", tokens), [&](Job& job) { by_flow_graph(job, tokens); }, tokens);
  row(
      "parallel_pipeline", [&](Job& job) { by_parallel_pipeline(job, tokens); }, tokens);

  cookbook::Checks checks;
  checks.equal("runs whose results are not in the order of reading", wrong, 0);
  checks.equal("texts in flight above the limit", above_limit, 0);
  return checks.exit_code();
}
