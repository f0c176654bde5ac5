// Scoped locking
//
// A lock has to be released on every way out of a block: at its end, at a return, at an exception. unlock() at the end
// of the block misses two of the three. A try block does it right, at some length. A scoped lock does it in its
// destructor, which runs on every way out. All three forms are in forms.hpp; here they are tried on four kinds of
// locks.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/scoped_locking/scoped_locking.cpp common/cookbook/*.cpp -lfmt -pthread -o scoped_locking
// Run:     scoped_locking [--hold-ms N]

#include <chrono>
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

/// Whether a thread other than the caller could take the lock now.
template <typename Lock>
bool is_free(Lock& lock) {
  bool taken = false;
  std::jthread([&] { taken = std::unique_lock(lock, std::try_to_lock).owns_lock(); }).join();
  return taken;
}

/// Whether the lock is free after work under it has thrown.
template <typename Lock, typename Form>
bool is_free_after_exception(Lock& lock, Form form) {
  try {
    form(lock, [] { throw std::runtime_error("this work fails"); });
  } catch (const std::runtime_error&) {
  }
  return is_free(lock);
}

}  // namespace

int main(int argc, char** argv) {
  int hold_ms = 1;
  cookbook::Options options("Release a lock on every way out of a block");
  options.add("hold-ms", hold_ms, "how long each thread holds its lock, in ms", 0, 10'000);
  options.parse(argc, argv);

  int threads = 0, free_after_naive = 0, free_after_by_hand = 0, free_after_scoped = 0;
  const auto try_forms = [&](std::string_view name, auto& lock) {
    const auto hold_in_thread = [&](auto form, std::string_view text) {
      return std::jthread([&, form, text, number = ++threads] {
        form(lock, [&] {
          cookbook::println("thread {}: {} {}", number, name, text);
          std::this_thread::sleep_for(std::chrono::milliseconds(hold_ms));
        });
      });
    };
    hold_in_thread(by_hand, "held by hand").join();
    hold_in_thread(scoped, "held by a scoped lock").join();

    free_after_by_hand += is_free_after_exception(lock, by_hand);  // true counts as 1
    free_after_scoped += is_free_after_exception(lock, scoped);
    free_after_naive += is_free_after_exception(lock, naive);
    lock.unlock();  // what the naive form has left out
  };
  std::mutex mutex;
  std::timed_mutex timed_mutex;
  std::recursive_mutex recursive_mutex;
  SemaphoreLock semaphore;
  try_forms("mutex", mutex);
  try_forms("timed mutex", timed_mutex);
  try_forms("recursive mutex", recursive_mutex);
  try_forms("semaphore", semaphore);

  // A condition variable needs std::unique_lock: wait() releases the lock while it sleeps, and takes it again.
  std::condition_variable condition;
  bool ready = false;
  std::unique_lock hold(mutex);
  std::jthread other([&] {
    std::scoped_lock hold_too(mutex);
    ready = true;
    condition.notify_one();
  });
  condition.wait(hold, [&] { return ready; });

  cookbook::Checks checks;
  checks.equal("locks that are free after an exception, naive", free_after_naive, 0);
  checks.equal("locks that are free after an exception, by hand", free_after_by_hand, 4);
  checks.equal("locks that are free after an exception, scoped", free_after_scoped, 4);
  checks.that("wait() has released the lock and taken it again", ready && hold.owns_lock());
  return checks.exit_code();
}
