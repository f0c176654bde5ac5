// Pitfall: set and cleared at once
//
// A producer puts 100 items into a list, and announces each by an event that is a flag and nothing else: it sets the
// flag and clears it at once. The consumer takes one item per announcement. An announcement is lost if the consumer is
// busy when it comes, and also if it wakes the consumer in vain: when that one looks, the flag has been cleared again.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/event/event_lost.cpp -pthread -o event_lost
// Run:     event_lost
// Symptom: exit 1, prints "items were never taken"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::mutex mutex;  // protects everything below
std::condition_variable changed;
bool flag = false, finished = false;
std::vector<int> items;
int taken = 0;
int in_vain = 0;  // wakes after which the flag had been cleared again

void consume() {
  for (;;) {
    std::unique_lock lock(mutex);
    while (!flag && !finished) {
      changed.wait(lock);
      if (!flag && !finished) ++in_vain;
    }
    if (finished) return;
    if (!items.empty()) {
      items.pop_back();
      ++taken;
    }
    lock.unlock();
    std::this_thread::sleep_for(1ms);  // uses the item
  }
}

void produce(int item) {
  std::unique_lock lock(mutex);
  items.push_back(item);
  flag = true;
  changed.notify_one();
  lock.unlock();
  lock.lock();  // as two calls, set() and clear(), would do
  flag = false;
}

}  // namespace

int main() {
  std::jthread consumer(consume);
  for (int item = 0; item < 100; ++item) {
    std::this_thread::sleep_for(1ms);  // makes the item
    produce(item);
  }
  {
    std::scoped_lock lock(mutex);
    finished = true;
  }
  changed.notify_one();
  consumer.join();
  std::printf("%d items were taken\n", taken);
  if (items.empty()) return 0;
  std::printf("%zu items were never taken\n", items.size());
  std::printf("%d times the consumer was woken in vain\n", in_vain);
  return 1;
}
