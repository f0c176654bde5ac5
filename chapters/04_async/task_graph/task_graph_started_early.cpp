// Pitfall: a node that has predecessors is started by hand
//
// The node `add` needs the results of the nodes `three` and `four`: it counts the messages that come to it, and runs
// when it has as many as there are edges that lead to it, two. A call of try_put() sends it one more message. So it
// runs when the first of the two results is there, and adds a number that nobody has computed yet.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/task_graph/task_graph_started_early.cpp -ltbb -pthread -o task_graph_started_early
// Run:     task_graph_started_early
// Symptom: exit 1, prints "3 + 4 = 3"

#include <tbb/flow_graph.h>

#include <cstdio>

namespace flow = tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;
using Message = flow::continue_msg;

int main() {
  int a = 0, b = 0, sum = 0;
  flow::graph graph;
  Node three(graph, [&](const Message&) { a = 3; });
  Node four(graph, [&](const Message&) { b = 4; });
  Node add(graph, [&](const Message&) { sum = a + b; });
  flow::make_edge(three, add);
  flow::make_edge(four, add);

  add.try_put({});  // wrong: only nodes without a predecessor are started by hand
  three.try_put({});
  graph.wait_for_all();  // only so that `four` is always the later one
  four.try_put({});
  graph.wait_for_all();
  std::printf("3 + 4 = %d\n", sum);
  return sum == 7 ? 0 : 1;
}
