// Event
//
// An event is a flag that threads can wait for: set() raises it and releases all who wait, clear() lowers it. A thread
// that calls both for each of 100 signals sends pulses, and a pulse releases only those who wait at that moment. The
// receiver is often busy then, and the signal is lost. A counter in place of the flag loses none.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/event/event.cpp common/cookbook/*.cpp -lfmt -pthread -o event
// Run:     event [--signals N] [--pause-ms N]

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "event_class.hpp"

namespace {

/// The naive form: the event is set and cleared for each signal. Returns how many signals were received.
int by_pulses(int signals, std::chrono::milliseconds pause) {
  Event event;
  std::atomic<bool> finished = false;
  int received = 0;
  std::jthread receiver([&] {
    while (true) {
      event.wait();
      if (finished) break;
      ++received;
      std::this_thread::sleep_for(pause);  // is busy with what was signalled
    }
  });
  for (int i = 0; i < signals; ++i) {
    std::this_thread::sleep_for(pause);
    event.set();
    event.clear();
  }
  finished = true;
  event.set();
  receiver.join();
  return received;
}

/// The right form: the sender counts the signals, and the receiver remembers how many it has seen. Signal i announces
/// the number i + 1. Returns the sum of the numbers that the receiver has got.
long by_counter(int signals, std::chrono::milliseconds pause) {
  std::vector<int> numbers(signals);
  std::atomic<int> sent = 0;
  long sum = 0;
  std::jthread receiver([&] {
    for (int received = 0; received < signals; ++received) {
      sent.wait(received);  // sleeps while `sent` is equal to `received`
      sum += numbers[received];
      std::this_thread::sleep_for(pause);
    }
  });
  for (int i = 0; i < signals; ++i) {
    std::this_thread::sleep_for(pause);
    numbers[i] = i + 1;
    ++sent;
    sent.notify_one();
  }
  receiver.join();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int signals = 100, pause_ms = 1;
  cookbook::Options options("Signal with an event, or count the signals");
  options.add("signals", signals, "signals to send", 1, 10'000);
  options.add("pause-ms", pause_ms, "how long sender and receiver are busy between signals", 0, 1'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds pause(pause_ms);

  Event event;
  std::atomic<int> released = 0;
  std::vector<std::jthread> threads;
  const auto start_thread = [&] {
    threads.emplace_back([&] {
      event.wait();
      ++released;
    });
  };
  cookbook::Checks checks;

  // A state: it stays, so it does not matter whether a thread waits before or after it is set.
  start_thread();
  start_thread();
  while (event.waiting() < 2) std::this_thread::yield();  // only for this demonstration: until both wait
  event.set();
  start_thread();
  threads.clear();  // waits for the threads
  checks.equal("threads released by \"ready\", before and after it was set", released.load(), 3);

  // A pulse: it releases those who wait at that moment, and nobody else.
  event.clear();
  released = 0;
  for (int i = 0; i < 3; ++i) start_thread();
  while (event.waiting() < 3) std::this_thread::yield();  // only for this demonstration: until all three wait
  event.set();
  event.clear();
  threads.clear();
  checks.equal("waiting threads released by a pulse", released.load(), 3);
  checks.equal("a thread that waits after the pulse is released", event.wait_for(std::chrono::milliseconds(10)), false);

  cookbook::println("      signals received, by pulses: {} of {}", by_pulses(signals, pause), signals);
  checks.equal("sum of the numbers received, by a counter", by_counter(signals, pause), signals * (signals + 1L) / 2);
  return checks.exit_code();
}
