// Recursive lock
//
// A box counts its items. Its methods add() and remove() take the box's lock and call execute(), which takes it again.
// A plain lock would make the thread wait for itself, for ever. A std::recursive_mutex lets its holder take it as often
// as it likes, counts, and is free for others only after as many unlocks. Beside it stands the box that needs no such
// lock: public methods lock, a private one does the work.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock [--items N] [--delay-ms N] [--depth N]

#include <algorithm>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

using std::chrono::milliseconds;

/// A box whose public methods call one another. Each of them locks, because each may also be called from outside.
class Box {
 public:
  int execute(int change) {
    std::scoped_lock hold(guard_);  // depth 2, if add() or remove() calls
    return total_ += change;
  }

  int add() {
    std::scoped_lock hold(guard_);  // depth 1
    return execute(+1);
  }

  int remove() {
    std::scoped_lock hold(guard_);
    return execute(-1);
  }

 private:
  std::recursive_mutex guard_;  // one for each box: two boxes do not get in each other's way
  int total_ = 0;
};

/// The same box with a plain mutex: the public methods lock, once, and never call one another.
class FlatBox {
 public:
  int execute(int change) {
    std::scoped_lock hold(guard_);
    return change_total(change);
  }

  int add() {
    std::scoped_lock hold(guard_);
    return change_total(+1);
  }

  int remove() {
    std::scoped_lock hold(guard_);
    return change_total(-1);
  }

 private:
  /// The work itself. The caller holds guard_.
  int change_total(int change) { return total_ += change; }

  std::mutex guard_;
  int total_ = 0;
};

/// One thread adds `items` items, another removes as many, each with a pause after every item. Returns all totals that
/// the two have seen.
template <typename AnyBox>
std::vector<int> add_and_remove(AnyBox& box, long items, milliseconds pause, bool show) {
  std::vector<int> after_adding, after_removing;
  std::jthread adder([&] {
    for (long i = 0; i < items; ++i) {
      after_adding.push_back(box.add());
      if (show) cookbook::println("added one item, total {}", after_adding.back());
      std::this_thread::sleep_for(pause);
    }
  });
  std::jthread remover([&] {
    for (long i = 0; i < items; ++i) {
      after_removing.push_back(box.remove());
      if (show) cookbook::println("removed one item, total {}", after_removing.back());
      std::this_thread::sleep_for(pause);
    }
  });
  adder.join();
  remover.join();
  after_adding.insert(after_adding.end(), after_removing.begin(), after_removing.end());
  return after_adding;
}

/// Whether a thread that holds a plain lock gets it a second time if it waits `patience` for it. The plain lock is a
/// semaphore of 1, because the standard forbids a thread even to try a std::timed_mutex that it holds.
bool plain_lock_taken_twice(milliseconds patience) {
  std::binary_semaphore guard(1);
  guard.acquire();
  return guard.try_acquire_for(patience);
}

/// Whether another thread than the caller could take the lock now; if so, it gives it back.
bool another_can_take(std::recursive_mutex& guard) {
  bool taken = false;
  std::jthread([&] { taken = std::unique_lock(guard, std::try_to_lock).owns_lock(); }).join();
  return taken;
}

/// Takes a lock `depth` times, then counts the unlocks that it needs until another thread can take it.
long unlocks_needed(long depth) {
  std::recursive_mutex guard;
  for (long i = 0; i < depth; ++i) guard.lock();
  long unlocks = 0;
  while (unlocks < depth && !another_can_take(guard)) {
    guard.unlock();
    ++unlocks;
  }
  return another_can_take(guard) ? unlocks : -1;
}

}  // namespace

int main(int argc, char** argv) {
  long items = 5, delay_ms = 20, depth = 3;
  cookbook::Options options("Let a thread take a lock that it already holds");
  options.add("items", items, "items that are added, and removed", 1, 10'000);
  options.add("delay-ms", delay_ms, "pause after each item, and patience with a plain lock", 0, 60'000);
  options.add("depth", depth, "how often one thread takes the lock", 1, 10'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  const milliseconds delay(delay_ms);
  const int most = static_cast<int>(items);

  Box box;
  const std::vector<int> totals = add_and_remove(box, items, delay, true);
  verdict.within("lowest total", std::ranges::min(totals), -most, most);
  verdict.within("highest total", std::ranges::max(totals), -most, most);
  verdict.equal("items still in the box", box.execute(0), 0);

  constexpr long many = 1'000'000;
  FlatBox flat_box;
  (void)add_and_remove(box, many, milliseconds(0), false);
  (void)add_and_remove(flat_box, many, milliseconds(0), false);
  verdict.equal("still in it after 1000000 more of each", box.execute(0), 0);
  verdict.equal("in the box without recursion after 1000000 of each", flat_box.execute(0), 0);

  verdict.equal("a plain lock can be taken again by its holder", plain_lock_taken_twice(delay), false);

  std::recursive_mutex guard;
  std::unique_lock outer(guard);
  verdict.equal("another thread can take it at depth 1", another_can_take(guard), false);
  std::unique_lock inner(guard, std::try_to_lock);
  verdict.equal("a recursive lock can be taken again by its holder", inner.owns_lock(), true);
  verdict.equal("another thread can take it at depth 2", another_can_take(guard), false);
  inner.unlock();
  verdict.equal("another thread can take it after one of two unlocks", another_can_take(guard), false);
  outer.unlock();
  verdict.equal("another thread can take it after both", another_can_take(guard), true);
  verdict.equal("unlocks needed until another thread can take it", unlocks_needed(depth), depth);
  return verdict.exit_code();
}
