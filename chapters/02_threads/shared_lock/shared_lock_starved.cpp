// Pitfall: a writer that never gets its turn
//
// Four threads read again and again, so at nearly any time one of them is inside. A writer waits. GCC's library on the
// GNU C library lets a new reader in whenever another reader is inside, also if a writer waits already. So the writer
// may wait for ever: it is starved. The standard does not say who comes first.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/shared_lock/shared_lock_starved.cpp -pthread -o shared_lock_starved
// Run:     shared_lock_starved
// Symptom: exit 1, prints "the writer still waits"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
  std::shared_mutex mutex;
  std::atomic<int> reads = 0;
  std::atomic<bool> written = false, stop = false;

  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        std::shared_lock lock(mutex);
        std::this_thread::sleep_for(1ms);  // reads
        ++reads;
      }
    });
  }
  while (reads < 4) std::this_thread::sleep_for(1ms);  // until all of them read
  threads.emplace_back([&] {
    std::scoped_lock lock(mutex);
    written = true;
  });
  while (reads < 1000 && !written) std::this_thread::sleep_for(1ms);

  const bool starved = !written;
  std::printf(starved ? "after %d reads the writer still waits\n" : "the writer was in after %d reads\n", reads.load());
  stop = true;  // without it the writer would go on waiting
  return starved ? 1 : 0;
}
