// Thread queue without an end
//
// The source's program: a producer appends ten items, three consumers pop them, and main waits for all four threads.
// But nobody tells the consumers that no more will come. When the items are used up, each of them waits in get() for
// the next one, and main waits for them, for ever.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/thread_queue/thread_queue_endless.cpp -pthread -o thread_queue_endless
// Run:     thread_queue_endless, and Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <thread>
#include <vector>

#include "plain_queue.hpp"

int main() {
  PlainQueue<int> queue(4);
  std::vector<std::jthread> consumers;
  for (int self = 1; self <= 3; ++self) {
    consumers.emplace_back([&, self] {
      while (const auto item = queue.get()) {
        std::printf("%d popped by consumer %d\n", *item, self);
        std::fflush(stdout);
        queue.task_done();
      }
    });
  }
  for (int item = 0; item < 10; ++item) queue.put(int(item));
  queue.join();
  std::puts("all items are processed; waiting for the consumers");
  std::fflush(stdout);
  // Missing here: queue.close();
  for (std::jthread& consumer : consumers) consumer.join();
  std::puts("never seen");
}
