// Pitfall: a consumer that ends when the queue is empty
//
// An empty queue does not mean that no more will come. It is empty before the first item as well, and whenever the
// consumer is faster than the producer. Here the producer needs a moment for its first item. The consumer finds the
// queue empty and ends, and all ten items stay in the queue.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_queue/process_queue_empty.cpp common/cookbook/*.cpp -lfmt -pthread -o process_queue_empty
// Run:     process_queue_empty
// Symptom: exit 1, prints "10 items were put, 10 are still in the queue"

#include "child.hpp"
#include "shared_memory.hpp"
#include "shared_queue.hpp"
#include "sign.hpp"

int main() {
  const Shared<SharedQueue<int, 16>> queue;
  Sign first_item_is_ready;
  const pid_t producer = start_child([&] {
    first_item_is_ready.wait();
    for (int item = 0; item < 10; ++item) queue->put(item);
  });
  const pid_t consumer = start_child([&] {
    while (queue->size() > 0) queue->get();  // wrong: empty does not mean that no more will come
  });
  exit_code_of(consumer);
  first_item_is_ready.give();
  exit_code_of(producer);

  if (queue->size() == 0) return 0;
  cookbook::println("10 items were put, {} are still in the queue", queue->size());
  return 1;
}
