// Semaphore
//
// A semaphore is a number of permits: acquire() takes one and waits while there is none, release() gives one back. The
// number with which it starts decides what it does. Six threads visit a room with a semaphore that starts at 6, at 3,
// at 2 and at 1: so many are inside at the same time. Then a producer hands items to a consumer through a single
// variable, and two semaphores that start at 0 say whose turn it is.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/semaphore/semaphore.cpp common/cookbook/*.cpp -lfmt -pthread -o semaphore
// Run:     semaphore [--items N] [--stay-ms N]

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "semaphore_class.hpp"

namespace {

/// Six threads come in, stay for a while, and leave; `limit` of them may be inside at the same time. Prints and returns
/// how many were, and prints how long it took.
int visit_all(int limit, std::chrono::milliseconds stay) {
  Semaphore room(limit);       // the class of semaphore_class.hpp
  std::barrier<> full(limit);  // a limit that divides 6: else the last visitors would wait for ever
  std::atomic<int> inside = 0;
  std::vector<int> found(6);  // how many were inside when each visitor had come in, with itself
  const auto visit = [&](int visitor) {
    room.acquire();
    found[visitor] = ++inside;
    full.arrive_and_wait();  // only for this demonstration: nobody leaves before the room is full
    std::this_thread::sleep_for(stay);
    --inside;
    room.release();
  };
  const cookbook::Stopwatch watch;
  std::vector<std::jthread> visitors;
  for (int i = 0; i < 6; ++i) visitors.emplace_back(visit, i);
  visitors.clear();  // waits for the threads
  const double ms = watch.seconds() * 1e3;
  const int most_inside = *std::max_element(found.begin(), found.end());
  cookbook::println("starts at {}{:>18}{:>10} x {} ms{:>13.0f} ms", limit, most_inside, 6 / limit, stay.count(), ms);
  return most_inside;
}

struct HandedOver {
  std::vector<int> produced, consumed;
  int signals_left;
};

/// A semaphore that starts at 0 is a signal: each release() lets one acquire() go on.
HandedOver hand_over(int items) {
  std::counting_semaphore<> item_wanted(0), item_ready(0);
  int item = -1;  // needs no lock: the two threads use it in turns
  std::vector<int> produced, consumed;
  std::jthread producer([&] {
    std::mt19937 random(2);
    std::uniform_int_distribution<int> number(0, 1000);  // both ends included
    for (int i = 0; i < items; ++i) {
      item_wanted.acquire();
      item = number(random);
      cookbook::println("producer makes {}", item);
      produced.push_back(item);
      item_ready.release();
    }
  });
  std::jthread consumer([&] {
    for (int i = 0; i < items; ++i) {
      cookbook::println("consumer wants item {}", i + 1);
      item_wanted.release();
      item_ready.acquire();
      cookbook::println("consumer takes {}", item);
      consumed.push_back(item);
    }
  });
  producer.join();
  consumer.join();
  return {produced, consumed, item_wanted.try_acquire() + item_ready.try_acquire()};
}

}  // namespace

int main(int argc, char** argv) {
  int items = 2, stay_ms = 20;
  cookbook::Options options("Hand items over and limit how many threads enter, with semaphores");
  options.add("items", items, "items that the producer hands to the consumer", 1, 10'000);
  options.add("stay-ms", stay_ms, "how long each visitor stays in the room", 0, 1'000);
  options.parse(argc, argv);

  cookbook::println("six visits       most inside      expected      all visits");
  std::vector<int> most_inside;
  for (const int limit : {6, 3, 2, 1}) most_inside.push_back(visit_all(limit, std::chrono::milliseconds(stay_ms)));
  cookbook::println("starts at 0: whoever comes waits until another thread gives a permit");
  const HandedOver items_of = hand_over(items);

  cookbook::Checks checks;
  checks.equal("items consumed", items_of.consumed, items_of.produced);
  checks.equal("signals left", items_of.signals_left, 0);
  checks.equal("most inside", most_inside, {6, 3, 2, 1});
  return checks.exit_code();
}
