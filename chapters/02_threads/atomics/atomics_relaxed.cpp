// Pitfall: a relaxed store announces plain data
//
// The writer fills one message after another, and announces each by a number; the reader waits for the number and then
// reads the message. But both operations on the number are relaxed, so nothing makes a message visible together with
// its announcement: a data race.
//
// Compile: g++ -std=c++20 -O2 -g -fsanitize=thread chapters/02_threads/atomics/atomics_relaxed.cpp -pthread -o atomics_relaxed
// Run:     atomics_relaxed
// Symptom: exit 0, prints "1000 of 1000 messages arrived"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race"

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr int count = 1000;
  std::vector<int> messages(count);
  std::atomic<int> written = 0;
  std::jthread writer([&] {
    for (int i = 0; i < count; ++i) {
      messages[i] = 42;
      written.store(i + 1, std::memory_order_relaxed);  // wrong: it must be a release
    }
  });
  int arrived = 0;
  for (int i = 0; i < count; ++i) {
    while (written.load(std::memory_order_relaxed) <= i) std::this_thread::yield();  // wrong: it must be an acquire
    if (messages[i] == 42) ++arrived;
  }
  std::printf("%d of %d messages arrived\n", arrived, count);
}
