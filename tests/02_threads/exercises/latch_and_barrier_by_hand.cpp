// Tests a barrier that a learner has written.

#include "hand_made_barrier.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

void nobody_goes_on_before_all_have_come() {
  HandMadeBarrier barrier(3);
  std::atomic<int> through = 0;
  std::atomic<pid_t> id = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      id = gettid();
      barrier.arrive_and_wait();
      ++through;
    });
  }
  while (id == 0) std::this_thread::sleep_for(1ms);
  const bool asleep = judge::sleeps(id);
  expect(through == 0, "A thread goes on although one of three has not come.");
  expect(asleep, "A thread keeps its processor busy while it waits.");
  std::jthread third([&] { barrier.arrive_and_wait(); });
  expect(within_two_seconds([&] { return through == 2; }), "All three have come, and not all of them go on.");
}

void many_phases(int count) {
  constexpr int phases = 2'000;
  HandMadeBarrier barrier(count);
  std::vector<std::atomic<int>> reached(count);
  std::vector<int> plain(count);  // not atomic: the barrier has to make it visible
  std::atomic<int> ended = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      for (int phase = 1; phase <= phases; ++phase) {
        reached[i] = phase;
        plain[i] = phase;
        barrier.arrive_and_wait();
        for (int other = 0; other < count; ++other) {
          expect(reached[other] == phase, "A thread is a phase behind, or ahead.");
        }
        expect(plain[(i + 1) % count] == phase, "What a thread did before the barrier is not visible behind it.");
        barrier.arrive_and_wait();  // nobody writes into `plain` while another thread reads it
      }
      ++ended;
    });
  }
  int before = -1;
  for (int now = 0; ended < count && now != before; now = reached[0]) {  // the threads go on, however slowly
    before = now;
    for (int i = 0; i < 2'000 && ended < count && reached[0] == before; ++i) std::this_thread::sleep_for(1ms);
  }
  expect(ended == count, "The barrier works for some phases, and then threads wait for ever.");
}

}  // namespace

int main() {
  nobody_goes_on_before_all_have_come();
  for (const int count : {1, 2, 5}) many_phases(count);
  std::puts("the barrier holds the threads together");
}
