// Lock
//
// Two threads change one counter: one adds 1 to it, the other takes 1 away, equally often, so it must end at 0.
// Without a lock both may read the same value, and one of the two changes is lost. A std::mutex around the
// read-modify-write loses none; an atomic add needs no lock at all. At the end a lock is seen from outside: who
// may take it, and who may give it back.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/lock/lock.cpp common/cookbook/*.cpp -lfmt -pthread -o lock
// Run:     lock [--changes N]

#include <atomic>
#include <mutex>
#include <semaphore>
#include <system_error>
#include <thread>

#include "cookbook/options.hpp"
#include "cookbook/verdict.hpp"

namespace {

/// Runs change(+1) in one thread and change(-1) in another, `changes` times each, and waits for both.
template <typename Change>
void up_and_down(long changes, Change change) {
  std::jthread up([&] {
    for (long i = 0; i < changes; ++i) change(+1);
  });
  std::jthread down([&] {
    for (long i = 0; i < changes; ++i) change(-1);
  });
}

long without_lock(long changes) {
  std::atomic<long> counter = 0;
  up_and_down(changes, [&](long step) {
    // The load and the store are each atomic, so this is no undefined behaviour; the pair of them is not, so the
    // other thread's change can fall in between and be overwritten.
    const long seen = counter.load(std::memory_order_relaxed);
    counter.store(seen + step, std::memory_order_relaxed);
  });
  return counter;
}

long with_lock(long changes) {
  long counter = 0;
  std::mutex guard;
  up_and_down(changes, [&](long step) {
    std::scoped_lock hold(guard);
    counter += step;
  });
  return counter;
}

long with_atomic_add(long changes) {
  std::atomic<long> counter = 0;
  up_and_down(changes, [&](long step) { counter.fetch_add(step, std::memory_order_relaxed); });
  return counter;
}

/// Loses one update on purpose: the up thread stops between its load and its store until down has done both of its own.
long one_lost_update() {
  std::atomic<long> counter = 0;
  std::binary_semaphore loaded(0), stored(0);
  std::jthread up([&] {
    const long seen = counter.load();
    loaded.release();
    stored.acquire();
    counter.store(seen + 1);
  });
  std::jthread down([&] {
    loaded.acquire();
    counter.store(counter.load() - 1);
    stored.release();
  });
  up.join();
  down.join();
  return counter;
}

/// Whether another thread than the caller could take the lock now; if so, it gives it back.
bool another_can_take(std::mutex& guard) {
  bool taken = false;
  std::jthread([&] {
    std::unique_lock attempt(guard, std::try_to_lock);
    taken = attempt.owns_lock();
  }).join();
  return taken;
}

/// Whether giving back a lock that one does not hold is refused.
bool unlock_is_refused(std::unique_lock<std::mutex>& hold) {
  try {
    hold.unlock();
  } catch (const std::system_error& error) {
    return error.code() == std::errc::operation_not_permitted;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  long changes = 100'000;
  cookbook::Options options("Protect a shared counter with a lock");
  options.add("changes", changes, "changes that each thread makes", 1, 100'000'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  verdict.within("counter without a lock", without_lock(changes), -changes, changes);
  verdict.equal("counter with a lock", with_lock(changes), 0L);
  verdict.equal("counter with an atomic add", with_atomic_add(changes), 0L);
  verdict.equal("counter after one +1 and one -1, the -1 overwritten", one_lost_update(), 1L);

  std::mutex guard;
  std::unique_lock hold(guard);
  verdict.equal("another thread can take a locked lock", another_can_take(guard), false);
  hold.unlock();
  verdict.equal("another thread can take it once unlocked", another_can_take(guard), true);
  verdict.equal("unlocking what is not held is refused", unlock_is_refused(hold), true);

  // A mutex belongs to the thread that locked it. A semaphore belongs to nobody: any thread may give it back.
  std::binary_semaphore gate(1);
  gate.acquire();
  std::jthread([&] { gate.release(); }).join();
  verdict.equal("a semaphore released by another thread is free", gate.try_acquire(), true);
  return verdict.exit_code();
}
