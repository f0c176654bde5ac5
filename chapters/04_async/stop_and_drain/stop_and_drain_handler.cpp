// Pitfall: a signal handler that locks
//
// A handler runs in the middle of whatever a thread is doing. Here the thread holds the lock of a queue at that moment,
// and the handler wants the same lock: it waits for the thread in the middle of which it runs, for ever. So can a
// handler that allocates memory or prints by printf(), since these have locks of their own.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/stop_and_drain/stop_and_drain_handler.cpp -pthread -o stop_and_drain_handler
// Run:     stop_and_drain_handler, then Ctrl-C
// Symptom: hangs

#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>

std::mutex mutex;
std::deque<int> orders;  // protected by the mutex

void hand_back_all(int) {
  std::scoped_lock lock(mutex);  // wrong: the thread that this handler has interrupted may hold it
  orders.clear();
}

int main() {
  std::signal(SIGTERM, hand_back_all);
  std::puts("orders come in");
  std::fflush(stdout);
  for (int order = 0; order < 3; ++order) {
    std::scoped_lock lock(mutex);
    orders.push_back(order);
    if (order == 1) std::raise(SIGTERM);  // here, so that it happens in every run, not only in some
  }
  std::printf("ended in good order, orders left: %zu\n", orders.size());
  return 0;
}
