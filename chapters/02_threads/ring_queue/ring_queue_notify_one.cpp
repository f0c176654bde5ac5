// Pitfall: notify_one wakes the wrong thread
//
// Three threads wait for their turns at one slot, as producers and consumers do at a slot of a ring. Only one of them
// can go on, so notify_one() seems to be enough. But it wakes any one of those that wait. If it is not that thread's
// turn, the thread goes back to sleep, nobody wakes the right one, and all of them sleep for ever.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/ring_queue/ring_queue_notify_one.cpp -pthread -o ring_queue_notify_one
// Run:     ring_queue_notify_one, then Ctrl-C
// Symptom: hangs

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

std::atomic<int> turn = -1;  // nobody's yet

void give_turn_to(int next) {
  turn = next;
  turn.notify_one();  // wrong: notify_all() wakes the right one, too
}

}  // namespace

int main() {
  constexpr int threads = 3, turns = 3'000;
  std::puts("three threads take turns");
  std::fflush(stdout);

  std::vector<std::jthread> running;
  for (int id = threads - 1; id >= 0; --id) {
    running.emplace_back([id] {
      for (int mine = id; mine < turns; mine += threads) {
        for (int seen = turn; seen != mine; seen = turn) turn.wait(seen);
        give_turn_to(mine + 1);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until all three sleep
  give_turn_to(0);
  running.clear();  // waits for them
  std::printf("%d turns were taken\n", turn.load());
}
