// Event
//
// An event is a flag to wait for: set() raises it and releases all who wait, clear() lowers it. Set and cleared at
// once, it is a pulse, which releases only who waits at that moment. 100 items are announced by pulses, and some are
// never taken: first every fourth, by force, then as the threads come. After that the same job is done in three ways
// that lose none: by two events that answer each other, by a semaphore, by a counter.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/event/event.cpp common/cookbook/*.cpp -lfmt -pthread -o event
// Run:     event [--items N] [--seed N] [--delay-ms N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/verdict.hpp"
#include "event_class.hpp"
#include "hand_over.hpp"

namespace {

using namespace std::chrono_literals;
using Items = std::vector<int>;
using Stop = std::stop_token;

/// As the source does it: a pulse for each item, a consumer that waits for one, takes one and sleeps.
template <typename AnyEvent>
Outcome by_pulses(const Items& items, std::chrono::milliseconds delay) {
  AnyEvent event;
  const auto announce = [&] {
    std::this_thread::sleep_for(delay);
    event.set();
    event.clear();
  };
  return hand_over(items, announce, [&](List& list, Items& consumed, const Stop& stop) {
    std::stop_callback wake(stop, [&] { event.set(); });
    for (;;) {
      std::this_thread::sleep_for(delay);
      event.wait();
      if (stop.stop_requested()) return;
      if (const auto item = list.pop()) consumed.push_back(*item);
    }
  });
}

/// The same with every fourth pulse sent while the consumer does not wait; each of the others finds it waiting.
Outcome with_every_fourth_missed(const Items& items) {
  Event event;
  std::binary_semaphore go_and_wait(0), taken(0);
  int pulses = 0, arrivals = 0;
  const auto announce = [&] {
    const bool missed = ++pulses % 4 == 0;
    if (!missed) {
      go_and_wait.release();
      event.wait_for_arrivals(++arrivals);
    }
    event.pulse();
    if (!missed) taken.acquire();
  };
  return hand_over(items, announce, [&](List& list, Items& consumed, const Stop& stop) {
    std::stop_callback wake(stop, [&] { go_and_wait.release(); });
    for (;;) {
      go_and_wait.acquire();
      if (stop.stop_requested()) return;
      event.wait();
      if (const auto item = list.pop()) consumed.push_back(*item);
      taken.release();
    }
  });
}

/// Cure 1: who has seen the event clears it, and a second event answers.
Outcome by_handshake(const Items& items) {
  Event made, taken;
  const auto announce = [&] {
    made.set();
    taken.wait();
    taken.clear();
  };
  return hand_over(items, announce, [&](List& list, Items& consumed, const Stop& stop) {
    std::stop_callback wake(stop, [&] { made.set(); });
    for (;;) {
      made.wait();
      if (stop.stop_requested()) return;
      made.clear();
      if (const auto item = list.pop()) consumed.push_back(*item);
      taken.set();
    }
  });
}

/// Cure 2: a semaphore counts what is announced.
Outcome by_semaphore(const Items& items) {
  std::counting_semaphore<> made(0);
  const auto announce = [&] { made.release(); };
  return hand_over(items, announce, [&](List& list, Items& consumed, const Stop& stop) {
    std::stop_callback wake(stop, [&] { made.release(); });  // the last permit, the only one without an item
    for (;;) {
      made.acquire();
      const auto item = list.pop();
      if (!item) return;
      consumed.push_back(*item);
    }
  });
}

/// Cure 3: a counter of what was announced, the bare form of an event. Each side has its own count, so whoever comes
/// late sees it.
Outcome by_counter(const Items& items) {
  std::atomic<int> announced = 0;
  const auto announce = [&] {
    ++announced;
    announced.notify_one();
  };
  return hand_over(items, announce, [&](List& list, Items& consumed, const Stop& stop) {
    std::stop_callback wake(stop, announce);  // the last announcement, the only one without an item
    for (int seen = 0;; ++seen) {
      announced.wait(seen);  // while it is `seen`
      const auto item = list.pop();
      if (!item) return;
      consumed.push_back(*item);
    }
  });
}

/// Whether a pulse releases a thread that waits, `limit` at most.
template <typename AnyEvent>
bool pulse_releases_a_waiter(std::chrono::milliseconds limit) {
  AnyEvent event;
  bool released = false;
  std::jthread waiter([&] { released = event.wait_for(limit); });
  event.wait_for_arrivals(1);
  event.pulse();
  waiter.join();
  return released;
}

bool pulse_releases_a_late_comer() {
  Event event;
  event.pulse();
  return event.wait_for(5ms);
}

/// How many threads go on at one set() without a clear(): `waiters` that wait already, and one that comes later.
int released_by_one_set(int waiters) {
  Event event;
  std::atomic<int> released = 0;
  std::vector<std::jthread> threads;
  const auto wait = [&] {
    event.wait();
    ++released;
  };
  for (int i = 0; i < waiters; ++i) threads.emplace_back(wait);
  event.wait_for_arrivals(waiters);
  event.set();
  threads.clear();  // joins them
  wait();
  return released;
}

Items sorted(Items items) {
  std::sort(items.begin(), items.end());
  return items;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 100, delay_ms = 1;
  unsigned seed = 1;
  cookbook::Options options("Signal with an event, and lose no signal");
  options.add("items", count, "items to announce", 1, 10'000);
  options.add("seed", seed, "seed of the random items", 0, 1'000'000'000);
  options.add("delay-ms", delay_ms, "what producer and consumer sleep between items", 0, 10'000);
  options.parse(argc, argv);

  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(0, 256);  // both ends included
  Items items;
  for (int i = 0; i < count; ++i) items.push_back(number(random));

  cookbook::Verdict verdict;
  verdict.equal("a pulse releases a waiter", pulse_releases_a_waiter<Event>(1h), true);
  verdict.equal("a pulse releases a waiter that looks at the flag alone", pulse_releases_a_waiter<FlagEvent>(20ms),
                false);
  verdict.equal("a pulse releases who comes later", pulse_releases_a_late_comer(), false);
  verdict.equal("released by one set: 3 waiters and a late comer", released_by_one_set(3), 4);

  const auto expect = [&](const std::string& way, const Outcome& outcome, int fewest, int most) {
    verdict.within("consumed, " + way, static_cast<int>(outcome.consumed.size()), fewest, most);
    Items all = outcome.consumed;
    all.insert(all.end(), outcome.left.begin(), outcome.left.end());
    verdict.equal("consumed and left are what was produced", sorted(all) == sorted(items), true);
  };
  const std::chrono::milliseconds delay(delay_ms);
  expect("every fourth pulse missed", with_every_fourth_missed(items), count - count / 4, count - count / 4);
  expect("pulses as they come", by_pulses<Event>(items, delay), 0, count);
  expect("pulses as they come, flag alone", by_pulses<FlagEvent>(items, delay), 0, count);
  expect("handshake", by_handshake(items), count, count);
  expect("semaphore", by_semaphore(items), count, count);
  expect("counter", by_counter(items), count, count);
  return verdict.exit_code();
}
