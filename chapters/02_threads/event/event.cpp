// Event
//
// An event is a flag that threads can wait for: set() raises it and releases all who wait, clear() lowers it. As a
// state that stays, it also releases those who come later. Set and cleared at once it is a pulse, which releases only
// those who wait at that moment. Then 100 signals are sent to a receiver that is often busy: by pulses, of which some
// are lost, and by a counter, which loses none.
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

/// Three threads wait for the event, then `signal` is called, and a fourth thread waits for up to 10 ms. How many went
/// on.
int released_by(Event& event, void (*signal)(Event&)) {
  std::atomic<int> released = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      event.wait();
      ++released;
    });
  }
  while (event.waiting() < 3) std::this_thread::yield();  // only for this demonstration: until all three wait
  signal(event);
  threads.clear();  // waits for the threads
  std::jthread([&] { released += event.wait_for(milliseconds(10)); }).join();
  return released;
}

}  // namespace

int main(int argc, char** argv) {
  int signals = 100, pause_ms = 1, busy_ms = 1;
  cookbook::Options options("Signal with an event, or count the signals");
  options.add("signals", signals, "signals to send", 1, 10'000);
  options.add("pause-ms", pause_ms, "how long the sender pauses before each signal", 0, 1'000);
  options.add("busy-ms", busy_ms, "how long the receiver is busy after each signal", 0, 1'000);
  options.parse(argc, argv);
  const milliseconds pause(pause_ms), busy(busy_ms);

  Event ready, pulsed;
  const int by_state = released_by(ready, [](Event& event) { event.set(); });
  const int by_pulse = released_by(pulsed, [](Event& event) {
    event.set();
    event.clear();
  });
  cookbook::println("3 threads wait, 1 comes later             set(): {} go on", by_state);
  cookbook::println("                                 set(), clear(): {} go on", by_pulse);
  bool stays_set = true;
  const long by_pulse_received = by_pulses(signals, pause, busy, stays_set);
  cookbook::println("{} signals to a busy receiver, by pulses: {} % received", signals,
                    percent(by_pulse_received, signals));
  long sum = 0;
  const int by_counter_received = by_counter(signals, pause, busy, sum);
  cookbook::println("{} signals to a busy receiver, by a counter: {} % received", signals,
                    percent(by_counter_received, signals));

  cookbook::Checks checks;
  checks.equal("threads released by a state, by a pulse", std::vector{by_state, by_pulse}, {4, 3});
  checks.equal("the event stays set after the last pulse", stays_set, false);
  checks.equal("sum of the numbers received, by the counter", sum, signals * (signals + 1L) / 2);
  return checks.exit_code();
}
