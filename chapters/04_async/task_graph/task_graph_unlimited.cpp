// Task graph without a limit
//
// The pipeline as one would first write it: main reads texts and puts each into a node that compares them. try_put()
// never waits: a node takes what it is given into a queue without a bound. To read is quicker than to compare, so the
// texts pile up in memory, and with an endless source the memory ends first.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/task_graph/task_graph_unlimited.cpp -ltbb -pthread -o task_graph_unlimited
// Run:     task_graph_unlimited
// Symptom: exit 1, prints "texts in memory at a time"

#include <tbb/flow_graph.h>

#include <cstdio>
#include <memory>

#include "pipeline.hpp"

int main() {
  Job job(10'000);
  tbb::flow::graph graph;
  tbb::flow::function_node<std::shared_ptr<Text>> compare(graph, tbb::flow::serial, [&](std::shared_ptr<Text> text) {
    job.compare(*text);
    job.write(*text);
  });

  auto text = std::make_shared<Text>();
  while (job.read(*text)) {
    compare.try_put(text);  // true, however many are waiting
    text = std::make_shared<Text>();
  }
  const int max_in_flight = job.max_in_flight;
  graph.wait_for_all();

  std::printf("%zu texts compared; up to %d texts in memory at a time\n", job.written.size(), max_in_flight);
  return max_in_flight > 100 ? 1 : 0;
}
