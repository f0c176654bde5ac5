// The program's output, its count of signals, and Event from inside.

#include "02_threads/event/event_class.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace noted {

using namespace std;

inline std::atomic<int> increments = 0;

/// In place of std::atomic: counts how often 1 is added to one.
template <typename T>
class atomic : public std::atomic<T> {
 public:
  atomic(T value) : std::atomic<T>(value) {}
  using std::atomic<T>::operator=;
  T operator++() {
    ++increments;
    return std::atomic<T>::operator++();
  }
};

}  // namespace noted

/// An event of the program. It notes how long the waits may last.
struct NotedEvent : Event {
  std::vector<std::chrono::milliseconds> limits;
  bool wait_for(std::chrono::milliseconds limit) {
    limits.push_back(limit);
    return Event::wait_for(limit);
  }
};

#define std noted
#define Event NotedEvent
#define main main_of_the_program  // to call its functions
#include "02_threads/event/event.cpp"
#undef main
#undef Event
#undef std

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

void until_waiting(Event& event, int threads) {
  while (event.waiting() < threads) std::this_thread::yield();
}

TEST(event, a_counter_loses_no_signal) {
  for (const int signals : {1, 100, 10'000}) {
    const auto result =
        run("event", {"--signals", std::to_string(signals), "--pause-ms", "0", "--busy-ms", "0"}, {.limit = 10s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^" + std::to_string(signals) + " signals, 0 ms apart, arrive ").size(), 1U);
    EXPECT_EQ(result.lines_with("^receiver busy for    0 ms +\\d+ % +100 %$").size(), 3U) << result.text();
    EXPECT_TRUE(result.has_line("ok    the event stays set after the last pulse: false")) << result.text();
    EXPECT_TRUE(result.has_line(fmt::format("ok    sums of the numbers received, by the counter: [{0}, {0}, {0}]",
                                            signals * (signals + 1) / 2)))
        << result.text();
  }
}

TEST(event, a_state_releases_who_comes_later_and_a_pulse_does_not) {
  for (int i = 0; i < 5; ++i) {
    const auto result = run("event", {"--signals", "1"}, {.limit = 10s});
    EXPECT_TRUE(result.has_line("of 3 that wait                   3                3")) << result.text();
    EXPECT_TRUE(result.has_line("of 1 that waits afterwards       1                0")) << result.text();
  }
}

TEST(event, who_comes_later_waits_for_10_ms_at_most) {
  NotedEvent state, pulsed;
  EXPECT_EQ(released_by(state, [](NotedEvent& event) { event.set(); }), std::vector({3, 1}));
  EXPECT_EQ(released_by(pulsed,
                        [](NotedEvent& event) {
                          event.set();
                          event.clear();
                        }),
            std::vector({3, 0}));
  EXPECT_EQ(state.limits, std::vector{10ms});
  EXPECT_EQ(pulsed.limits, std::vector{10ms});
}

/// How many of the signals arrive by pulses, in percent, at a receiver that is busy for so long.
long percent_by_pulses(const std::vector<std::string>& options, int busy_ms) {
  const auto result = run("event", options, {.limit = 10s});
  const auto received = result.captures(fmt::format("^receiver busy for {:>4} ms +(\\d+) % +100 %$", busy_ms));
  EXPECT_GE(received.size(), 1U) << result.text();
  return received.empty() ? -1 : std::stol(received[0]);
}

TEST(event, pulses_that_come_while_the_receiver_is_busy_are_lost) {
  for (const int busy_ms : {3, 5}) {
    long percent = 100;
    for (int attempt = 0; attempt < 5 && percent == 100; ++attempt) {
      percent = percent_by_pulses({}, busy_ms);
      EXPECT_GE(percent, 1) << "the receiver waits when the first pulse comes";
    }
    EXPECT_LT(percent, 100) << "no signal was lost in five runs";
  }
}

TEST(event, a_receiver_that_waits_gets_every_pulse_and_no_other) {
  // On a machine that is very busy it may not wait again when the next pulse comes, or go round many times before a
  // sender without a processor calls clear().
  for (const std::string signals : {"1", "3"}) {
    long percent = 0;
    for (int attempt = 0; attempt < 10 && percent != 100; ++attempt) {
      percent = percent_by_pulses({"--signals", signals, "--pause-ms", "50", "--busy-ms", "0"}, 0);
    }
    EXPECT_EQ(percent, 100) << "not once all of " << signals << " and no more";
  }
}

TEST(event, the_counter_is_increased_once_per_signal) {
  for (const int signals : {1, 5, 100}) {
    noted::increments = 0;
    long sum = 0;
    EXPECT_EQ(by_counter(signals, 0ms, 0ms, sum), signals);
    EXPECT_EQ(noted::increments, signals);
    EXPECT_EQ(sum, signals * (signals + 1L) / 2);
  }
}

TEST(event, each_pulse_that_meets_the_receiver_counts_once) {
  // The first one always does. The second one comes while the receiver is busy, except on a machine that is very busy.
  long percent = 0;
  for (int attempt = 0; attempt < 5 && percent != 50; ++attempt) {
    percent = percent_by_pulses({"--signals", "2", "--pause-ms", "0", "--busy-ms", "50"}, 250);
  }
  EXPECT_EQ(percent, 50);
}

TEST(event_class, a_pulse_releases_all_who_wait) {
  for (int round = 0; round < 50; ++round) {
    Event event;
    std::atomic<int> released = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { released += event.wait_for(5s); });
    until_waiting(event, 4);
    event.set();
    event.clear();
    threads.clear();
    EXPECT_EQ(released, 4);
    EXPECT_EQ(event.waiting(), 0);
    if (HasFailure()) return;
  }
}

TEST(event_class, a_pulse_that_nobody_waits_for_is_lost) {
  Event event;
  event.set();
  event.clear();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(event.wait_for(10ms));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 10ms);
}

TEST(event_class, a_set_without_clear_releases_all_who_wait_and_all_who_come_later) {
  Event event;
  std::atomic<int> released = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { released += event.wait_for(5s); });
  until_waiting(event, 3);
  event.set();
  threads.clear();
  EXPECT_EQ(released, 3);
  EXPECT_TRUE(event.wait_for(0ms));
  event.wait();
  event.clear();
  EXPECT_FALSE(event.wait_for(0ms));
}

/// Puts the numbers from 0 on into a list and calls announce() for each; consume(take, stop) runs in a thread that is
/// then asked to stop. Returns how many it took; every number must have been taken once or be left.
int hand_over(int items, auto announce, auto consume) {
  std::mutex mutex;
  std::vector<int> list, taken;
  const auto take = [&] {
    std::scoped_lock lock(mutex);
    if (list.empty()) return;
    taken.push_back(list.back());
    list.pop_back();
  };
  {
    std::jthread consumer([&](const std::stop_token& stop) { consume(take, stop); });
    for (int item = 0; item < items; ++item) {
      {
        std::scoped_lock lock(mutex);
        list.push_back(item);
      }
      announce();
    }
  }
  std::vector<int> all = taken, expected(items);
  all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
  return static_cast<int>(taken.size());
}

TEST(event_class, consumed_and_left_are_what_was_produced_and_a_stop_request_ends_the_consumer) {
  Event event;
  const auto pulse = [&] {
    event.set();
    event.clear();
  };
  hand_over(1000, pulse, [&](auto take, const std::stop_token& stop) {
    std::stop_callback wake(stop, [&] { event.set(); });
    for (event.wait(); !stop.stop_requested(); event.wait()) take();
  });
}

TEST(event_class, one_missed_pulse_of_four_leaves_a_quarter_of_the_items) {
  Event event;
  std::atomic<int> may_take = 0, items_taken = 0, pulses = 0;
  const auto announce = [&] {
    const bool missed = ++pulses % 4 == 0;
    if (!missed) {
      may_take += 1;
      may_take.notify_one();
      until_waiting(event, 1);
    }
    event.set();
    event.clear();
    if (!missed) items_taken.wait(may_take - 1);
  };
  const int taken = hand_over(100, announce, [&](auto take, const std::stop_token& stop) {
    std::stop_callback wake(stop, [&] {
      may_take += 1;
      may_take.notify_one();
    });
    for (int turn = 0;; ++turn) {
      may_take.wait(turn);
      if (stop.stop_requested()) return;
      event.wait();
      take();
      ++items_taken;
      items_taken.notify_one();
    }
  });
  EXPECT_EQ(taken, 75);
}

TEST(event_class, a_handshake_of_two_events_loses_nothing) {
  Event made, taken_event;
  const auto announce = [&] {
    made.set();
    taken_event.wait();
    taken_event.clear();
  };
  const int taken = hand_over(500, announce, [&](auto take, const std::stop_token& stop) {
    std::stop_callback wake(stop, [&] { made.set(); });
    for (made.wait(); !stop.stop_requested(); made.wait()) {
      made.clear();
      take();
      taken_event.set();
    }
  });
  EXPECT_EQ(taken, 500);
}

TEST(event_lost, takes_some_items_and_leaves_the_others) {
  const auto result = run("event_lost");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto taken = result.captures("^(\\d+) items were taken$");
  const auto left = result.captures("^(\\d+) items were never taken$");
  ASSERT_EQ(taken.size() + left.size(), 2U) << result.text();
  EXPECT_EQ(std::stoi(taken[0]) + std::stoi(left[0]), 100);
  EXPECT_GT(std::stoi(left[0]), 0);
  const auto in_vain = result.captures("^(\\d+) times the consumer was woken in vain$");
  ASSERT_EQ(in_vain.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(in_vain[0]), 0);
  EXPECT_LE(std::stoi(in_vain[0]), 100) << "at most once per announcement";
}

}  // namespace
