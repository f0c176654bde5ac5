// Pipeline
//
// Texts go through three stages: they are read in order, their letters are counted by several threads at the same time,
// and they are written in order. Reading is faster than counting, so there has to be a limit for the texts that are in
// flight: a text needs one of eight tokens to be read, and gives it back when it has been written. The program does
// this by a flow graph of oneTBB, by its ready-made pipeline, and by hand with threads.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_pipeline/task_pipeline.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o task_pipeline
// Run:     task_pipeline [--texts N] [--tokens N] [--threads N]

#include <tbb/flow_graph.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "cookbook/checks.hpp"
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

/// The graph is a ring. What goes round in it are pointers to places for texts; these are the tokens.
void by_flow_graph(Job& job, int tokens) {
  flow::graph graph;
  flow::multifunction_node<Text*, std::tuple<Text*>> read(graph, flow::serial, [&](Text* text, auto& outputs) {
    if (job.read(*text)) std::get<0>(outputs).try_put(text);  // else the token stays here, and the ring comes to rest
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

/// Each thread carries one text after another through all three stages.
void by_hand(Job& job, int tokens, int threads) {
  std::mutex mutex;  // for reading and writing
  std::condition_variable written;
  const auto carry = [&] {
    std::unique_lock lock(mutex);
    for (;;) {
      written.wait(lock, [&] { return job.in_flight < tokens; });
      Text text;
      if (!job.read(text)) return;
      lock.unlock();
      Job::count(text);
      lock.lock();
      written.wait(lock, [&] { return std::ssize(job.written) == text.number; });  // until it is this text's turn
      job.write(text);
      written.notify_all();
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(carry);
}

}  // namespace

int main(int argc, char** argv) {
  int texts = 400, tokens = 8, threads = 4;
  cookbook::Options options("A pipeline of three stages with a limit for what is in flight");
  options.add("texts", texts, "texts that go through the pipeline", 1, 100'000);
  options.add("tokens", tokens, "texts that may be in flight at the same time", 1, 1'000);
  options.add("threads", threads, "threads of the form by hand", 1, 64);
  options.parse(argc, argv);

  Job expected(texts);
  one_after_another(expected);
  cookbook::Checks checks;
  const auto check = [&](const std::string& form, auto run) {
    Job job(texts);
    run(job);
    cookbook::println("{}: up to {} texts in flight at the same time", form, job.max_in_flight);
    checks.that(form + ": all results, in the order of reading", job.written == expected.written);
    checks.equal(fmt::format("{}: texts in flight above the limit of {}", form, tokens),
                 std::max(0, job.max_in_flight - tokens), 0);
  };
  check("flow graph", [&](Job& job) { by_flow_graph(job, tokens); });
  check("parallel_pipeline", [&](Job& job) { by_parallel_pipeline(job, tokens); });
  check("by hand", [&](Job& job) { by_hand(job, tokens, threads); });
  return checks.exit_code();
}
