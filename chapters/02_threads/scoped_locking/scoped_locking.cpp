// Scoped locking
//
// A lock has to be released on every way out of a block: at its end, at a return, at an exception. unlock() at the end
// of the block misses two of the three. A try block does it right, at some length. A scoped lock does it in its
// destructor, which runs on every way out. The program leaves a block in each way with each of these forms, and counts
// how many of four kinds of locks are free afterwards.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/scoped_locking/scoped_locking.cpp common/cookbook/*.cpp -lfmt -pthread -o scoped_locking
// Run:     scoped_locking

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "forms.hpp"

namespace {

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

/// Whether the lock is free after a block in this form has been left as `work` leaves it.
template <typename Lock>
bool free_after(auto form, auto work) {
  Lock lock;
  try {
    form(lock, work);
  } catch (const std::runtime_error&) {
  }
  const bool free = is_free(lock);
  if (!free) lock.unlock();
  return free;
}

/// Of four kinds of locks.
int count_free(auto form, auto work) {
  return free_after<std::mutex>(form, work) + free_after<std::timed_mutex>(form, work) +
         free_after<std::recursive_mutex>(form, work) + free_after<SemaphoreLock>(form, work);
}

/// Waits at a condition variable, and returns whether another thread could take the lock afterwards.
bool free_after_wait() {
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  std::unique_lock hold(mutex);  // not a scoped_lock: wait() releases the lock while it sleeps, and takes it again
  std::jthread other([&] {
    std::scoped_lock hold_too(mutex);
    ready = true;
    condition.notify_one();
  });
  condition.wait(hold, [&] { return ready; });  // without releasing the lock, it would never be ready
  return is_free(mutex);
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Release a lock on every way out of a block");
  options.parse(argc, argv);

  // The forms as lambdas, since a function template cannot be an argument.
  const auto use_naive = [](auto& lock, auto work) { naive(lock, work); };
  const auto use_by_hand = [](auto& lock, auto work) { by_hand(lock, work); };
  const auto use_scoped = [](auto& lock, auto work) { scoped(lock, work); };

  std::vector<int> free_naive, free_by_hand, free_scoped;
  cookbook::println("locks that are free after    naive  by hand  scoped");
  const auto leave = [&](std::string_view way, auto work) {
    free_naive.push_back(count_free(use_naive, work));
    free_by_hand.push_back(count_free(use_by_hand, work));
    free_scoped.push_back(count_free(use_scoped, work));
    cookbook::println("{:<26}{:3} of 4{:4} of 4{:3} of 4", way, free_naive.back(), free_by_hand.back(),
                      free_scoped.back());
  };
  leave("the end of the block", [] { return true; });
  leave("a return", [] { return false; });
  leave("an exception", []() -> bool { throw std::runtime_error("this work fails"); });

  cookbook::Checks checks;
  checks.equal("free after the naive form", free_naive, {4, 0, 0});
  checks.equal("free after the form by hand", free_by_hand, {4, 4, 4});
  checks.equal("free after the scoped form", free_scoped, {4, 4, 4});
  checks.equal("after wait() another thread can take the lock", free_after_wait(), false);
  return checks.exit_code();
}
