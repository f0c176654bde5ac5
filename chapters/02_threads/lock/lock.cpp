// Lock
//
// Two threads add 1 to one counter. If each loads, adds and stores in separate steps, both may load the same value, and
// then one of the two additions is lost: the program first shows this step by step. Then it lets both threads add many
// times, without a lock, with one, and by an atomic addition, and prints where each counter ends, and what an addition
// takes.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/lock/lock.cpp common/cookbook/*.cpp -lfmt -pthread -o lock
// Run:     lock [--additions N]

#include <atomic>
#include <latch>
#include <mutex>
#include <string_view>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "run_concurrently.hpp"

namespace {

/// Loses one addition in every run: the latches make A wait with its store until B has loaded and stored.
long with_one_lost_addition() {
  std::atomic<long> counter = 0;
  std::latch a_has_loaded(1), b_has_stored(1);
  std::jthread a([&] {
    const long seen = counter.load();
    cookbook::println("A loads  {}", seen);
    a_has_loaded.count_down();
    b_has_stored.wait();
    counter.store(seen + 1);
    cookbook::println("A stores {}", seen + 1);
  });
  std::jthread b([&] {
    a_has_loaded.wait();
    const long seen = counter.load();
    cookbook::println("B loads  {}", seen);
    counter.store(seen + 1);
    cookbook::println("B stores {}", seen + 1);
    b_has_stored.count_down();
  });
  a.join();
  b.join();
  return counter;
}

struct Outcome {
  long counter;    // where it ends
  double seconds;  // from the begin of the first thread to the end of the last one
};

/// Calls add_one() `additions` times in each of two threads, which begin at the same time. Returns the seconds.
template <typename Function>
double add_in_two_threads(long additions, Function add_one) {
  return run_concurrently(2, [&](int) {
    for (long i = 0; i < additions; ++i) add_one();
  });
}

/// Load and store are atomic, so that C++ defines what the program does; relaxed: with no order to other variables. But
/// between the two the other thread can store a value of its own, which is then overwritten.
Outcome load_then_store(long additions) {
  std::atomic<long> counter = 0;
  const double seconds = add_in_two_threads(additions, [&] {
    const long seen = counter.load(std::memory_order_relaxed);
    counter.store(seen + 1, std::memory_order_relaxed);
  });
  return {counter, seconds};
}

Outcome with_lock(long additions) {
  long counter = 0;
  std::mutex mutex;
  const double seconds = add_in_two_threads(additions, [&] {
    std::scoped_lock lock(mutex);
    counter += 1;
  });
  return {counter, seconds};
}

Outcome with_atomic_add(long additions) {
  std::atomic<long> counter = 0;
  const double seconds = add_in_two_threads(additions, [&] { counter.fetch_add(1); });
  return {counter, seconds};
}

/// Lets both threads add; prints where the counter ends and what an addition takes; returns where the counter ends.
long print_row(std::string_view name, long additions, Outcome (*add)(long additions)) {
  const auto [counter, seconds] = add(additions);
  const double all = 2.0 * additions;
  cookbook::println("{:<24}{:>15}{:>15.1f} %{:>17.1f} ns", name, counter, 100 * (all - counter) / all,
                    1e9 * seconds / all);
  return counter;
}

}  // namespace

int main(int argc, char** argv) {
  long additions = 3'000'000;
  cookbook::Options options("Protect a shared counter with a lock");
  options.add("additions", additions, "additions that each thread makes", 1, 100'000'000);
  options.parse(argc, argv);

  cookbook::println("one addition by each of two threads, step by step:");
  const long lost_one = with_one_lost_addition();
  cookbook::println("{:<24}counter ends at   lost additions   time per addition",
                    fmt::format("2 x {} additions", additions));
  print_row("load, then store", additions, load_then_store);  // loses none only by luck
  const long locked = print_row("with a lock", additions, with_lock);
  const long added = print_row("atomic addition", additions, with_atomic_add);

  cookbook::Checks checks;
  checks.equal("counter after two additions, one of them lost", lost_one, 1);
  checks.equal("counter with a lock", locked, 2 * additions);
  checks.equal("counter with an atomic addition", added, 2 * additions);
  return checks.exit_code();
}
