// Event
//
// An event is a flag that threads can wait for: set() raises it and releases all who wait, clear() lowers it. How many
// of 100 signals arrive if each of them is an event that is set and cleared at once, a pulse? First the output shows
// which threads go on after set(), and which after a pulse: one that comes later does not. Then a receiver gets the
// signals by pulses and by a counter, and is busy with each of them for a shorter or longer time than the sender
// pauses.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/event/event.cpp common/cookbook/*.cpp -lfmt -pthread -o event
// Run:     event [--signals N] [--pause-ms N] [--busy-ms N]

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "event_class.hpp"

namespace {

using std::chrono::milliseconds;

/// The naive form: the event is set and cleared for each signal. The sender pauses before each, and the receiver is
/// busy after each. Returns how many signals were received. `stays_set`: whether the event is still set after the last
/// pulse.
long by_pulses(int signals, milliseconds pause, milliseconds busy, bool& stays_set) {
  Event event;
  std::atomic<bool> finished = false;
  long received = 0;  // with --busy-ms 0 it can be many millions
  std::jthread receiver([&] {
    while (true) {
      event.wait();
      if (finished) break;
      ++received;
      std::this_thread::sleep_for(busy);  // works on what was signalled
    }
  });
  while (event.waiting() == 0) std::this_thread::yield();  // so that the first pulse is not lost
  for (int i = 0; i < signals; ++i) {
    std::this_thread::sleep_for(pause);
    event.set();
    event.clear();
  }
  stays_set = event.wait_for(milliseconds(0));
  std::this_thread::sleep_for(pause + busy);  // so that the receiver can count the last pulse before the end
  finished = true;
  event.set();
  receiver.join();
  return received;
}

/// The right form: the sender counts the signals, and the receiver remembers how many it has seen. Signal i announces
/// the number i + 1. Adds the numbers that the receiver has got to `sum`. Returns how many signals were received.
int by_counter(int signals, milliseconds pause, milliseconds busy, long& sum) {
  std::vector<int> numbers(signals);
  std::atomic<int> sent = 0;
  int received = 0;
  std::jthread receiver([&] {
    while (received < signals) {
      sent.wait(received);  // sleeps while `sent` is equal to `received`
      sum += numbers[received];
      ++received;
      std::this_thread::sleep_for(busy);
    }
  });
  for (int i = 0; i < signals; ++i) {
    std::this_thread::sleep_for(pause);
    numbers[i] = i + 1;
    ++sent;
    sent.notify_one();
  }
  receiver.join();
  return received;
}

/// The signals that were received, as a percentage, rounded down: 99 and not 100 if one of many was lost.
long percent(long received, int signals) { return 100 * received / signals; }

/// Three threads wait for the event, then `signal` is called, and a fourth thread waits for up to 10 ms. How many of
/// the three went on, and how many of the one.
std::vector<int> released_by(Event& event, void (*signal)(Event&)) {
  std::atomic<int> waiting = 0, later = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      event.wait();
      ++waiting;
    });
  }
  while (event.waiting() < 3) std::this_thread::yield();  // only for this demonstration: until all three wait
  signal(event);
  threads.clear();  // waits for the threads
  std::jthread([&] { later += event.wait_for(milliseconds(10)); }).join();
  return {waiting, later};
}

}  // namespace

int main(int argc, char** argv) {
  int signals = 100, pause_ms = 2, busy_ms = 1;
  cookbook::Options options("Signal with an event, or count the signals");
  options.add("signals", signals, "signals to send", 1, 10'000);
  options.add("pause-ms", pause_ms, "how long the sender pauses before each signal", 0, 1'000);
  options.add("busy-ms", busy_ms, "how long the receiver is busy after each signal; then 3 and 5 times as long", 0,
              200);
  options.parse(argc, argv);
  const milliseconds pause(pause_ms);

  Event ready, pulsed;
  const auto by_state = released_by(ready, [](Event& event) { event.set(); });
  const auto by_pulse = released_by(pulsed, [](Event& event) {
    event.set();
    event.clear();
  });
  cookbook::println("threads that go on after     set()   set(), clear()");
  cookbook::println("of 3 that wait      {:>14}{:>17}", by_state[0], by_pulse[0]);
  cookbook::println("of 1 that waits afterwards{:>8}{:>17}\n", by_state[1], by_pulse[1]);

  bool stays_set = true;
  std::vector<long> sums;
  cookbook::println("{} signals, {} ms apart, arrive   by pulses   by a counter", signals, pause_ms);
  for (const int times : {1, 3, 5}) {
    const milliseconds busy(times * busy_ms);
    const long by_pulses_received = by_pulses(signals, pause, busy, stays_set);
    const int by_counter_received = by_counter(signals, pause, busy, sums.emplace_back());
    cookbook::println("receiver busy for {:>4} ms       {:>7} %{:>13} %", busy.count(),
                      percent(by_pulses_received, signals), percent(by_counter_received, signals));
  }

  cookbook::Checks checks;
  checks.equal("threads released by set(), and by set() and clear()", std::vector{by_state, by_pulse},
               {{3, 1}, {3, 0}});
  checks.equal("the event stays set after the last pulse", stays_set, false);
  checks.equal("sums of the numbers received, by the counter", sums, std::vector(3, signals * (signals + 1L) / 2));
  return checks.exit_code();
}
