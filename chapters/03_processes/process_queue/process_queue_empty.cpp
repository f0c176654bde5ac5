// Process queue, ended when empty
//
// The consumer of the source: it leaves when the queue is empty. But a queue is empty before the first item, too, and
// whenever the consumer is faster than the producer. Here the producer needs a moment for its first item, and all ten
// stay in the queue. With --late-ms 0 it is a race.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue_empty.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue_empty
// Run:     process_queue_empty [--late-ms N]
// Symptom: exit 1, prints "FAIL  items popped: 0, expected 10"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "child.hpp"
#include "common.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"

int main(int argc, char** argv) {
  int late_ms = 50;
  cookbook::Options options("End a consumer when its queue is empty, which may be before the first item");
  options.add("late-ms", late_ms, "time that the producer takes for its first item", 0, 10'000);
  options.parse(argc, argv);

  struct Trade {
    SharedQueue<int, 16> queue;
    std::atomic<int> popped = 0;
  };
  const Shared<Trade> trade;
  const pid_t producer = start_child([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
    for (const int item : make_items(10)) trade->queue.put(item);
  });
  const pid_t consumer = start_child([&] {
    while (trade->queue.size() > 0) {  // the mistake: empty does not mean that no more will come
      trade->queue.get();
      ++trade->popped;
    }
    cookbook::println("the queue is empty");
  });

  cookbook::Checks checks;
  checks.equal("exit codes of both", std::vector<int>{exit_code_of(producer), exit_code_of(consumer)}, {0, 0});
  cookbook::println("left in the queue: {}", trade->queue.size());
  checks.equal("items popped", trade->popped.load(), 10);
  return checks.exit_code();
}
