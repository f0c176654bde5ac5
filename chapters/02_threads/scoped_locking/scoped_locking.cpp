// Scoped locking
//
// A lock has to be released on every way out of a block: at its end, at a return, at an exception. unlock() at the end
// of the block misses two of the three. A try block does it right, at some length. A scoped lock does it in its
// destructor, which runs on every way out. All three forms are in forms.hpp; here they are tried on four kinds of
// locks.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/scoped_locking/scoped_locking.cpp common/cookbook/*.cpp -lfmt -pthread -o scoped_locking
// Run:     scoped_locking

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "forms.hpp"

namespace {

/// Two threads hold the lock, one after the other: nobody knows which is first.
template <typename Lock>
void hold_in_two_threads(std::string_view name, Lock& lock) {
  std::jthread one([&] { by_hand(lock, [&] { cookbook::println("{}: held by hand", name); }); });
  std::jthread two([&] { scoped(lock, [&] { cookbook::println("{}: held by a scoped lock", name); }); });
}

/// Whether the lock can be taken. Another thread tries: the one that holds a std::mutex must not try, and a recursive
/// mutex would let it in again.
template <typename Lock>
bool is_free(Lock& lock) {
  bool taken = false;
  std::jthread([&] {
    std::unique_lock attempt(lock, std::try_to_lock);
    taken = attempt.owns_lock();
  }).join();
  return taken;
}

/// Makes `hold` take the lock, do work that throws, and release the lock. Returns whether the lock is free afterwards.
template <typename Lock, typename Hold>
bool free_after_exception(Lock& lock, Hold hold) {
  try {
    hold(lock, [] { throw std::runtime_error("this work fails"); });
  } catch (const std::runtime_error&) {
  }
  return is_free(lock);
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Release a lock on every way out of a block");
  options.parse(argc, argv);

  int free_naive = 0, free_by_hand = 0, free_scoped = 0;
  const auto try_all = [&](std::string_view name, auto& lock) {
    hold_in_two_threads(name, lock);
    // Each form in a lambda, since a function template cannot be an argument. True counts as 1.
    free_by_hand += free_after_exception(lock, [](auto& held, auto work) { by_hand(held, work); });
    free_scoped += free_after_exception(lock, [](auto& held, auto work) { scoped(held, work); });
    free_naive += free_after_exception(lock, [](auto& held, auto work) { naive(held, work); });
    lock.unlock();  // what the naive form has left out
  };
  std::mutex mutex;
  std::timed_mutex timed_mutex;
  std::recursive_mutex recursive_mutex;
  SemaphoreLock semaphore;
  try_all("mutex", mutex);
  try_all("timed mutex", timed_mutex);
  try_all("recursive mutex", recursive_mutex);
  try_all("semaphore", semaphore);

  // A condition variable needs std::unique_lock: its wait() releases the lock while it sleeps, and takes it again.
  std::condition_variable condition;
  bool ready = false;
  std::unique_lock hold(mutex);
  std::jthread other([&] {
    std::scoped_lock hold_too(mutex);
    ready = true;
    condition.notify_one();
  });
  condition.wait(hold, [&] { return ready; });  // without releasing the lock, it would never be ready

  cookbook::Checks checks;
  checks.equal("locks that are free after an exception, naive", free_naive, 0);
  checks.equal("locks that are free after an exception, by hand", free_by_hand, 4);
  checks.equal("locks that are free after an exception, scoped", free_scoped, 4);
  checks.equal("after wait() another thread can take the lock", is_free(mutex), false);
  return checks.exit_code();
}
