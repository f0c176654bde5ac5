// Pitfall: no limit for the texts in flight
//
// The pipeline as one would write it first: main() reads texts and puts each into a node that counts and writes it.
// try_put() never waits; the node keeps what it is given in a queue without a bound. Reading is faster than counting,
// so the texts pile up in memory. (One node counts and writes, one text at a time, so that this happens with any number
// of cores.)
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/task_pipeline/task_pipeline_unlimited.cpp -ltbb -pthread -o task_pipeline_unlimited
// Run:     task_pipeline_unlimited
// Symptom: exit 1, prints "the texts pile up"

#include <tbb/flow_graph.h>

#include <cstdio>
#include <memory>

#include "job.hpp"

int main() {
  Job job(2'000);
  tbb::flow::graph graph;
  tbb::flow::function_node<std::shared_ptr<Text>> count_and_write(graph, tbb::flow::serial, [&](const auto& text) {
    Job::count(*text);
    job.write(*text);
  });

  auto text = std::make_shared<Text>();
  while (job.read(*text)) {
    count_and_write.try_put(text);  // wrong: true at once, however many are waiting
    text = std::make_shared<Text>();
  }
  graph.wait_for_all();
  std::printf("up to %d of %zu texts in flight at the same time\n", job.max_in_flight, job.written.size());
  if (job.max_in_flight <= 100) return 0;
  std::puts("the texts pile up");
  return 1;
}
