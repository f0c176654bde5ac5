// Lock
//
// Two threads change one counter: one adds 1 to it, the other takes 1 away, equally often, so it should end at 0.
// Without a lock both may load the same value, and then one of the two changes is lost. A lock around each change loses
// none, and neither does an atomic addition, which needs no lock.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/lock/lock.cpp common/cookbook/*.cpp -lfmt -pthread -o lock
// Run:     lock [--changes N]

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// Calls change(+1) `ups` times in one thread and change(-1) `downs` times in another, and waits for both.
template <typename Change>
void up_and_down(long ups, long downs, Change change) {
  std::latch both_started(2);  // so that one thread has not finished before the other begins
  std::jthread up([&] {
    both_started.arrive_and_wait();
    for (long i = 0; i < ups; ++i) change(+1);
  });
  std::jthread down([&] {
    both_started.arrive_and_wait();
    for (long i = 0; i < downs; ++i) change(-1);
  });
}

/// Loads, adds and stores in separate steps. Each step is atomic, so that C++ defines what the program does; but
/// between load and store the other thread can store a value of its own, which is then overwritten.
long without_lock(long ups, long downs) {
  std::atomic<long> counter = 0;
  up_and_down(ups, downs, [&](long step) {
    const long seen = counter.load();
    counter.store(seen + step);
  });
  return counter;
}

long with_lock(long changes) {
  long counter = 0;
  std::mutex mutex;
  up_and_down(changes, changes, [&](long step) {
    std::scoped_lock lock(mutex);
    counter += step;
  });
  return counter;
}

long with_atomic_add(long changes) {
  std::atomic<long> counter = 0;
  up_and_down(changes, changes, [&](long step) { counter.fetch_add(step); });
  return counter;
}

/// Loses one update in every run: the thread `up` does not store before `down` has loaded and stored.
long with_one_lost_update() {
  std::atomic<long> counter = 0;
  std::latch up_has_loaded(1), down_has_stored(1);
  std::jthread up([&] {
    const long seen = counter.load();
    up_has_loaded.count_down();
    down_has_stored.wait();
    counter.store(seen + 1);
  });
  std::jthread down([&] {
    up_has_loaded.wait();
    counter.store(counter.load() - 1);
    down_has_stored.count_down();
  });
  up.join();
  down.join();
  return counter;
}

}  // namespace

int main(int argc, char** argv) {
  long changes = 100'000;
  cookbook::Options options("Protect a shared counter with a lock");
  options.add("changes", changes, "changes that each thread makes", 1, 100'000'000);
  options.parse(argc, argv);

  cookbook::println("counter without a lock: {}", without_lock(changes, changes));  // 0 only by luck

  cookbook::Checks checks;
  checks.equal("counter with a lock", with_lock(changes), 0);
  checks.equal("counter with an atomic addition", with_atomic_add(changes), 0);
  checks.equal("counter without a lock, additions alone", without_lock(changes, 0), changes);
  checks.equal("counter without a lock, subtractions alone", without_lock(0, changes), -changes);
  checks.equal("counter after one +1 and one -1, the -1 lost", with_one_lost_update(), 1);
  return checks.exit_code();
}
