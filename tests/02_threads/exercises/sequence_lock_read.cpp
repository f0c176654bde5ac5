// Tests a SequenceLock whose readers a learner has written.

#include "sequence_lock.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using judge::expect;

namespace {

constexpr std::size_t words = 4096;  // so many that a reader often meets the writer at work
using Lock = SequenceLock<words>;

void one_thread() {
  Lock lock;
  Lock::Value value;
  for (long round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < words; ++i) value[i] = round * static_cast<long>(i + 1);
    lock.write(value);
    expect(lock.read() == value, "read() does not return what was written last.");
    expect(lock.read() == value, "A second read() returns something else.");
  }
}

void readers_and_a_writer() {
  Lock lock;
  Lock::Value value{};
  std::atomic<bool> stop = false;
  std::atomic<long> reads = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (long before = 0; !stop;) {
        const Lock::Value copy = lock.read();
        for (const long word : copy) expect(word == copy[0], "A copy is half old and half new.");
        expect(copy[0] >= before, "A copy is older than the one before.");
        before = copy[0];
        ++reads;
      }
    });
  }
  std::jthread writer([&] {
    using Clock = std::chrono::steady_clock;
    for (long round = 1; !stop; ++round) {
      value.fill(round);
      lock.write(value);
      const auto until = Clock::now() + std::chrono::microseconds(5);
      while (Clock::now() < until) {
      }
    }
  });
  // The writer is stopped again and again for a moment, about every second time in the middle of its work.
  for (int pause = 0; pause < 300 || (reads < 100 && pause < 5'000); ++pause) {
    pthread_kill(writer.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  const bool enough = judge::within_two_seconds([&] { return reads >= 100; });
  expect(enough, "The readers do not come to an end.");
  stop = true;
}

}  // namespace

int main() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    const timespec moment = {0, 200'000};
    nanosleep(&moment, nullptr);
  };
  sigaction(SIGUSR1, &action, nullptr);
  one_thread();
  readers_and_a_writer();
  std::puts("all copies are whole");
}
