// Lock
//
// Two threads change one counter: one adds 1 to it, the other takes 1 away, equally often, so it should end at 0.
// If each loads, adds and stores in separate steps, both may load the same value, and then one of the two changes is
// lost. A lock around each change loses none, and neither does an atomic addition, which needs no lock. The program
// prints where each counter ends and what a change costs, and then, step by step, how one change gets lost.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/lock/lock.cpp common/cookbook/*.cpp -lfmt -pthread -o lock
// Run:     lock [--changes N]

#include <atomic>
#include <latch>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// Calls change(+1) `ups` times in one thread and change(-1) `downs` times in another, and waits for both.
template <typename Change>
void up_and_down(long ups, long downs, Change change) {
  std::latch both_started(2);  // so that both have started before either makes a change
  std::jthread up([&] {
    both_started.arrive_and_wait();
    for (long i = 0; i < ups; ++i) change(+1);
  });
  std::jthread down([&] {
    both_started.arrive_and_wait();
    for (long i = 0; i < downs; ++i) change(-1);
  });
}

/// Load and store are atomic, so that C++ defines what the program does; relaxed: with no order to other variables. But
/// between the two the other thread can store a value of its own, which is then overwritten.
long load_then_store(long ups, long downs) {
  std::atomic<long> counter = 0;
  up_and_down(ups, downs, [&](long step) {
    const long seen = counter.load(std::memory_order_relaxed);
    counter.store(seen + step, std::memory_order_relaxed);
  });
  return counter;
}

long with_lock(long ups, long downs) {
  long counter = 0;
  std::mutex mutex;
  up_and_down(ups, downs, [&](long step) {
    std::scoped_lock lock(mutex);
    counter += step;
  });
  return counter;
}

long with_atomic_add(long ups, long downs) {
  std::atomic<long> counter = 0;
  up_and_down(ups, downs, [&](long step) { counter.fetch_add(step); });
  return counter;
}

/// Loses one update in every run: the latches make `up` wait with its store until `down` has loaded and stored.
long with_one_lost_update() {
  std::atomic<long> counter = 0;
  std::latch up_has_loaded(1), down_has_stored(1);
  std::jthread up([&] {
    const long seen = counter.load();
    cookbook::println("up   loads  {}", seen);
    up_has_loaded.count_down();
    down_has_stored.wait();
    counter.store(seen + 1);
    cookbook::println("up   stores {}", counter.load());
  });
  std::jthread down([&] {
    up_has_loaded.wait();
    const long seen = counter.load();
    cookbook::println("down loads  {}", seen);
    counter.store(seen - 1);
    cookbook::println("down stores {}", counter.load());
    down_has_stored.count_down();
  });
  up.join();
  down.join();
  return counter;
}

/// Lets both threads make their changes; prints and returns where the counter ends.
long print_row(std::string_view name, long changes, long (*both)(long ups, long downs)) {
  const cookbook::Stopwatch watch;
  const long counter = both(changes, changes);
  cookbook::println("{:<18}{:12}{:19.1f} ns", name, counter, watch.seconds() / (2.0 * changes) * 1e9);
  return counter;
}

}  // namespace

int main(int argc, char** argv) {
  long changes = 1'000'000;
  cookbook::Options options("Protect a shared counter with a lock");
  options.add("changes", changes, "changes that each thread makes", 1, 100'000'000);
  options.parse(argc, argv);

  cookbook::println("                   counter ends at  time per change");
  print_row("load, then store", changes, load_then_store);  // 0 only by luck
  const long locked = print_row("with a lock", changes, with_lock);
  const long added = print_row("atomic addition", changes, with_atomic_add);
  cookbook::println("one change by each thread, step by step:");
  const long lost_one = with_one_lost_update();

  cookbook::Checks checks;
  checks.equal("counter with a lock, with an atomic addition", std::vector{locked, added}, {0, 0});
  const std::vector up_alone = {load_then_store(changes, 0), with_lock(changes, 0), with_atomic_add(changes, 0)};
  checks.equal("counter after additions alone, in each of the three ways", up_alone, std::vector(3, changes));
  checks.equal("counter after one +1 and one -1, the -1 lost", lost_one, 1);
  return checks.exit_code();
}
