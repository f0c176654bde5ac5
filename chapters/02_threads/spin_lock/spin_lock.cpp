// Spin lock and sequence lock
//
// A std::mutex may put a thread that has to wait to sleep. A spin lock lets it look at the lock again and again, which
// is quicker where the lock is held for a few nanoseconds only. Here threads add to one counter under such a lock. Then
// one thread changes three numbers that belong together, while two read them through a sequence lock: readers take no
// lock at all, and read again if the writer has come between.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/spin_lock/spin_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o spin_lock
// Run:     spin_lock [--threads N] [--rounds N]

#include "spin_lock.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "sequence_lock.hpp"

namespace {

/// Each of the threads adds 1 to one counter, `rounds` times.
long count(int threads, long rounds) {
  long counter = 0;
  SpinLock lock;  // guards the counter
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      for (long round = 0; round < rounds; ++round) {
        const std::scoped_lock hold(lock);
        ++counter;
      }
    });
  }
  running.clear();  // waits for all of them
  return counter;
}

/// A writer changes three numbers (1, 2, 3), then (2, 4, 6), then (3, 6, 9) and so on, until two readers have read them
/// `rounds` times each. Returns how often a reader got three numbers that do not belong together.
long mixed_readings(long rounds) {
  SequenceLock<3> numbers;
  std::atomic<long> mixed = 0;
  std::atomic<int> reading = 2;
  const auto read = [&] {
    for (long round = 0; round < rounds; ++round) {
      const auto [one, two, three] = numbers.read();
      if (two != 2 * one || three != 3 * one) ++mixed;
    }
    --reading;
  };
  const auto write = [&] {
    for (long i = 1; reading > 0; ++i) numbers.write({i, 2 * i, 3 * i});
  };
  { std::jthread writer(write), reader_1(read), reader_2(read); }
  return mixed;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  long rounds = 50'000;
  cookbook::Options options("Guard a few instructions with a spin lock, and readers with a sequence lock");
  options.add("threads", threads, "threads that share the counter", 1, 64);
  options.add("rounds", rounds, "additions per thread, and readings per reader", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("spin lock: additions that were counted", count(threads, rounds), threads * rounds);
  checks.equal("sequence lock: readings that mixed old and new numbers", mixed_readings(rounds), 0L);
  return checks.exit_code();
}
