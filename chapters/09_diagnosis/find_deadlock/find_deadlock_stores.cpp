// A program that hangs
//
// Three threads move goods between stores. A move locks the store that it takes from, then the one that it brings to.
// The three wait for each other, two more wait for them, and the sixth is only asleep. find_deadlock.cpp tells which.
//
// Compile: g++ -std=c++20 -g chapters/09_diagnosis/find_deadlock/find_deadlock_stores.cpp -pthread -o find_deadlock_stores
// Run:     find_deadlock_stores, then Ctrl-C; or find_deadlock_stores in-turns, which ends

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <latch>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

struct Store {
  std::mutex mutex;
  int goods = 100;
};

Store tea, rice, salt;
bool in_turns = false;  // each thread has ended before the next one starts, so that nothing hangs
std::latch three_hold_one(3);

void move_goods(Store& from, Store& to) {
  std::scoped_lock first(from.mutex);
  if (!in_turns) three_hold_one.arrive_and_wait();  // so that it hangs in every run
  std::scoped_lock second(to.mutex);
  --from.goods;
  ++to.goods;
}

void count_goods(Store& store) {
  std::scoped_lock lock(store.mutex);
  std::printf("%d\n", store.goods);
}

int main(int argc, char** argv) {
  in_turns = argc > 1 && argv[1] == std::string("in-turns");
  static std::binary_semaphore named(0);
  std::vector<std::jthread> threads;
  const auto start = [&](const char* name, auto work) {
    threads.emplace_back([name, work] {
      pthread_setname_np(pthread_self(), name);  // a debugger shows it
      named.release();
      work();
    });
    named.acquire();  // ThreadSanitizer takes no name from a thread that another one already waits for
    if (in_turns) threads.back().join();
  };
  start("north", [] { move_goods(tea, rice); });
  start("east", [] { move_goods(rice, salt); });
  start("south", [] { move_goods(salt, tea); });
  if (in_turns) return 0;

  three_hold_one.wait();
  start("clerk", [] { count_goods(rice); });
  start("auditor", [] { count_goods(tea); });
  start("clock", [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  std::printf("all threads are started\n");
  std::fflush(stdout);
}
