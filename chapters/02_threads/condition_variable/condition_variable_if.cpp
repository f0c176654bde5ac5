// Condition variable, its condition tested once
//
// Two consumers wait for an item with `if` instead of a loop. The producer puts one item and wakes both. The first
// takes it; the second goes on as well, since nothing makes it look again, and finds the list empty.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/condition_variable/condition_variable_if.cpp -pthread -o condition_variable_if
// Run:     condition_variable_if
// Symptom: exit 1, prints "from an empty list"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::mutex guard;
std::condition_variable not_empty, waiting_changed;
std::vector<int> items;
int waiting = 0, empty_pops = 0;

void consume(int consumer) {
  std::unique_lock hold(guard);
  if (items.empty()) {  // should be: while (items.empty())
    ++waiting;
    waiting_changed.notify_one();
    not_empty.wait(hold);
  }
  if (items.empty()) {
    std::printf("consumer %d takes from an empty list\n", consumer);
    ++empty_pops;
  } else {
    std::printf("consumer %d takes item %d\n", consumer, items.back());
    items.pop_back();
  }
}

}  // namespace

int main() {
  std::jthread first(consume, 1), second(consume, 2);
  {
    std::unique_lock hold(guard);
    waiting_changed.wait(hold, [] { return waiting == 2; });
    items.push_back(7);
    not_empty.notify_all();
  }
  first.join();
  second.join();
  return empty_pops == 0 ? 0 : 1;
}
