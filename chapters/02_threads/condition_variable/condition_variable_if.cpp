// Pitfall: the condition is tested only once
//
// Two consumers find the list empty and wait, with `if` instead of a loop. The producer puts one item and wakes both.
// The first takes it. The second goes on as well, since nothing makes it look again, and takes from an empty list,
// instead of waiting for the next item. A thread that is woken for no reason at all (a spurious wake-up) would do the
// same.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/condition_variable/condition_variable_if.cpp -pthread -o condition_variable_if
// Run:     condition_variable_if
// Symptom: exit 1, prints "from an empty list"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::mutex mutex;
std::condition_variable not_empty;
std::condition_variable waiting_changed;  // only to put the item when both consumers wait
std::vector<int> items;
int waiting = 0, taken_from_nothing = 0;

void consume(int consumer) {
  std::unique_lock lock(mutex);
  if (items.empty()) {
    ++waiting;
    waiting_changed.notify_one();
    not_empty.wait(lock);  // wrong: the condition is not tested again
  }
  if (items.empty()) {
    std::printf("consumer %d takes from an empty list\n", consumer);
    ++taken_from_nothing;
  } else {
    std::printf("consumer %d takes item %d\n", consumer, items.back());
    items.pop_back();
  }
}

}  // namespace

int main() {
  std::jthread first(consume, 1), second(consume, 2);
  {
    std::unique_lock lock(mutex);
    waiting_changed.wait(lock, [] { return waiting >= 2; });
    items.push_back(7);
    not_empty.notify_all();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // makes the next item
  {
    std::scoped_lock lock(mutex);
    items.push_back(8);
    not_empty.notify_all();
  }
  first.join();
  second.join();
  return taken_from_nothing == 0 ? 0 : 1;
}
