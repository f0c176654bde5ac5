// Semaphore
//
// A semaphore is a number of permits: acquire() takes one and waits while there is none, release() gives one back.
// First a producer hands five items to a consumer through a single variable; two semaphores that start at 0 say whose
// turn it is. Then six threads want to enter a room; a semaphore that starts at 2 lets in no more than two at a time.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/semaphore/semaphore.cpp common/cookbook/*.cpp -lfmt -pthread -o semaphore
// Run:     semaphore [--items N] [--permits N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "semaphore_class.hpp"

int main(int argc, char** argv) {
  int items = 5, permits = 2;
  cookbook::Options options("Hand items over and limit how many threads enter, with semaphores");
  options.add("items", items, "items that the producer hands to the consumer", 1, 10'000);
  options.add("permits", permits, "threads that may be in the room at the same time", 1, 6);
  options.parse(argc, argv);

  // A semaphore that starts at 0 is a signal: each release() lets one acquire() go on.
  std::counting_semaphore<> item_wanted(0), item_ready(0);
  int item = -1;  // needs no lock: the two threads use it in turns
  std::vector<int> produced, consumed;
  std::jthread producer([&] {
    std::mt19937 random(2);
    std::uniform_int_distribution<int> number(0, 1000);  // both ends included
    for (int i = 0; i < items; ++i) {
      item_wanted.acquire();
      item = number(random);
      cookbook::println("produced {}", item);
      produced.push_back(item);
      item_ready.release();
    }
  });
  std::jthread consumer([&] {
    for (int i = 0; i < items; ++i) {
      cookbook::println("consumer waits for item {}", i + 1);
      item_wanted.release();
      item_ready.acquire();
      cookbook::println("consumed {}", item);
      consumed.push_back(item);
    }
  });
  producer.join();
  consumer.join();

  // A semaphore that starts at N is a limit: at most N threads are between acquire() and release().
  Semaphore room(permits);  // the class of semaphore_class.hpp
  std::atomic<int> inside = 0;
  std::vector<int> found(6);  // how many were inside when each visitor had come in, with itself
  const auto visit = [&](int visitor) {
    room.acquire();
    found[visitor] = ++inside;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // stands for work that only few may do at a time
    --inside;
    room.release();
  };
  std::vector<std::jthread> visitors;
  for (int i = 0; i < 6; ++i) visitors.emplace_back(visit, i);
  visitors.clear();  // waits for the threads
  const int most_inside = *std::max_element(found.begin(), found.end());

  int permits_left = 0;
  while (room.try_acquire()) ++permits_left;

  cookbook::Checks checks;
  checks.equal("items consumed", consumed, produced);
  checks.that("no signal is left", !item_wanted.try_acquire() && !item_ready.try_acquire());
  checks.within("most threads in the room at the same time", most_inside, 1, permits);
  checks.equal("permits when all have left", permits_left, permits);
  return checks.exit_code();
}
