// Pitfall: a consumer that ends when the queue is empty
//
// An empty queue does not mean that no more will come. It is empty before the first item as well, and whenever the
// consumer is faster than the producer. Here the producer needs a moment for each item. The consumer finds the queue
// empty and ends, and all ten items stay in the queue.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue_empty.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue_empty
// Run:     process_queue_empty
// Symptom: exit 1, prints "are still in the queue"

#include <unistd.h>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"

int main() {
  const Shared<SharedQueue<int, 16>> queue;
  const pid_t producer = cookbook::start_child([&] {
    for (int item = 0; item < 10; ++item) {
      usleep(10'000);  // it takes a moment to make one
      queue->put(item);
    }
  });
  const pid_t consumer = cookbook::start_child([&] {
    int taken = 0;
    while (queue->size() > 0) {  // wrong: empty does not mean that no more will come
      queue->get();
      ++taken;
    }
    return taken;
  });
  cookbook::exit_code_of(producer);
  const int taken = cookbook::exit_code_of(consumer);
  if (taken == 10) {
    cookbook::println("all 10 items were taken");
    return 0;
  }
  cookbook::println("10 items were put, {} are still in the queue", queue->size());
  return 1;
}
