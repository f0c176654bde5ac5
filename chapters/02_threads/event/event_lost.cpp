// Event, set and cleared at once
//
// The source's producer and consumer, with the event that comes to mind in C++: a flag, and a wait for the flag. Most
// of the 100 signals are lost. Either the consumer is not waiting when one comes, or it is woken, and finds the flag
// down again when it looks.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/event/event_lost.cpp -pthread -o event_lost
// Run:     event_lost
// Symptom: exit 1, prints "signals were lost"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::mutex guard;
std::condition_variable changed;
bool flag = false, no_more = false;
std::vector<int> items;
int consumed = 0;

void consume() {
  for (;;) {
    std::unique_lock hold(guard);
    changed.wait(hold, [] { return flag || no_more; });
    if (no_more) return;
    if (!items.empty()) {
      items.pop_back();
      ++consumed;
    }
    hold.unlock();
    std::this_thread::sleep_for(1ms);
  }
}

/// Raises the flag for an item, and lowers it at once, as the source does.
void produce(int item) {
  {
    std::scoped_lock hold(guard);
    items.push_back(item);
    flag = true;
  }
  changed.notify_one();
  std::scoped_lock hold(guard);
  flag = false;
}

}  // namespace

int main() {
  std::jthread consumer(consume);
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(1ms);
    produce(i);
  }
  {
    std::scoped_lock hold(guard);
    no_more = true;  // the source has no end: there the consumer now waits for ever
  }
  changed.notify_one();
  consumer.join();
  std::printf("%d of 100 consumed, %zu left in the list\n", consumed, items.size());
  if (consumed == 100) return 0;
  std::puts("signals were lost");
  return 1;
}
