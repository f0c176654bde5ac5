// Pitfall: set and cleared at once
//
// A producer puts 100 items into a list, and announces each by an event that is a flag and nothing else: it sets the
// flag and clears it at once. The consumer takes one item per announcement. About half of the announcements are lost,
// or more: nearly always because the consumer is busy when one comes, now and then because it is woken, and when it
// looks, the flag has been cleared again.
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

void consume() {
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return flag || finished; });
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
  return 1;
}
