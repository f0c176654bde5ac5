// Tests a barrier that a learner has written.

#include "hand_made_barrier.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

std::atomic<int> waits = 0;
std::atomic<bool> waits_end_by_themselves = false;

}  // namespace

// Stands before the library's own function, which a std::condition_variable calls: counts, and lets a thread wake up
// for no reason, as the standard allows.
extern "C" int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  ++waits;
  timespec end = {};
  clock_gettime(CLOCK_REALTIME, &end);
  if (waits_end_by_themselves) {
    end.tv_nsec += 5'000'000;
    if (end.tv_nsec >= 1'000'000'000) ++end.tv_sec, end.tv_nsec -= 1'000'000'000;
  } else {
    end.tv_sec += 3600;
  }
  const int result = pthread_cond_timedwait(condition, mutex, &end);
  return result == ETIMEDOUT ? 0 : result;
}

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
  expect(waits > 0, "No thread waits at a condition variable until it is notified.");
  expect(asleep, "A thread keeps its processor busy while it waits.");
  std::jthread third([&] { barrier.arrive_and_wait(); });
  expect(within_two_seconds([&] { return through == 2; }), "All three have come, and not all of them go on.");
}

void a_thread_may_wake_up_for_no_reason() {
  HandMadeBarrier barrier(2);
  std::atomic<bool> through = false;
  waits_end_by_themselves = true;
  std::jthread first([&] {
    barrier.arrive_and_wait();
    through = true;
  });
  std::this_thread::sleep_for(50ms);
  expect(!through, "A thread that wakes up for no reason goes on although not all have come.");
  barrier.arrive_and_wait();
  first.join();
  waits_end_by_themselves = false;
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
  a_thread_may_wake_up_for_no_reason();
  for (const int count : {1, 2, 5}) many_phases(count);
  std::puts("the barrier holds the threads together");
}
