// Pitfall: a time limit for a thread
//
// The task runs in a thread. When its time limit is over, the worker asks the thread to stop. C++ has no call that ends
// a thread from outside, and this task never looks whether it should stop. So the worker waits until the task ends by
// itself. A process could be killed, as pool.hpp does.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/celery_pool/celery_pool_thread.cpp -pthread -o celery_pool_thread
// Run:     celery_pool_thread
// Symptom: exit 1, prints "the task ran to its end"

#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

int main() {
  bool at_end = false;
  // wrong: the task does not look at its token
  std::jthread task([&](const std::stop_token&) {
    for (int step = 0; step < 50; ++step) std::this_thread::sleep_for(10ms);  // the work: half a second
    at_end = true;
  });
  std::this_thread::sleep_for(100ms);
  std::puts("the time limit is over: the task is asked to stop");
  task.request_stop();
  task.join();
  if (at_end) {
    std::puts("the task ran to its end");
    return 1;
  }
  std::puts("the task has stopped");
  return 0;
}
