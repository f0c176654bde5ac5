// Scoped locking
//
// A lock that is taken must be given back on every way out of the block: at its end, at a return, at an exception. A
// scoped lock does that in its destructor. Four primitives are each taken twice, by one thread with a scoped lock and
// by another by hand, with the try and catch that this needs. After both, and after exceptions, each must be free.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/scoped_locking/scoped_locking.cpp common/cookbook/*.cpp -lfmt -pthread -o scoped_locking
// Run:     scoped_locking [--delay-ms N]

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

/// The scoped form, as Python's with: the destructor of `hold` gives the lock back, whatever happens in work().
template <template <typename...> class Scope, typename Lock, typename Work>
void in_scope(Lock& lock, Work work) {
  Scope<Lock> hold(lock);
  work();
}

/// The same by hand, as Python's try and finally.
template <typename Lock, typename Work>
void by_hand(Lock& lock, Work work) {
  lock.lock();
  try {
    work();
  } catch (...) {
    lock.unlock();
    throw;
  }
  lock.unlock();
}

/// What a scoped lock asks of a type; the standard calls it BasicLockable.
template <typename Type>
concept CanBeHeld = requires(Type& lock) {
  lock.lock();
  lock.unlock();
};
static_assert(CanBeHeld<std::mutex> && CanBeHeld<std::recursive_mutex>);
static_assert(!CanBeHeld<std::condition_variable>);  // it has no lock of its own; it goes with a mutex
static_assert(!CanBeHeld<std::binary_semaphore>);    // its operations are called acquire and release
static_assert(!CanBeHeld<std::latch>);               // a signal has nothing to give back

/// A semaphore of 1 by the names that scoped locks ask for.
class SemaphoreLock {
 public:
  void lock() { token_.acquire(); }
  bool try_lock() { return token_.try_acquire(); }
  void unlock() { token_.release(); }

 private:
  std::binary_semaphore token_{1};
};
static_assert(CanBeHeld<SemaphoreLock>);

/// The work under each lock: a line with the thread's name. Counts how often two threads are at it at once.
class Work {
 public:
  explicit Work(std::chrono::milliseconds pause) : pause_(pause) {}

  void operator()(int thread, const std::string& what) {
    if (++inside_ > 1) ++overlaps_;
    cookbook::println("({:<10}) {}", "Thread-" + std::to_string(thread), what);
    std::this_thread::sleep_for(pause_);
    --inside_;
    ++done_;
  }

  int done() const { return done_; }
  int overlaps() const { return overlaps_; }

 private:
  std::chrono::milliseconds pause_;
  std::atomic<int> inside_ = 0, overlaps_ = 0, done_ = 0;
};

void always_fails() { throw std::runtime_error("this work always fails"); }

/// Whether another thread than the caller could take the lock now; if so, it gives it back.
template <typename Lock>
bool is_free(Lock& lock) {
  bool taken = false;
  std::jthread([&] { taken = std::unique_lock(lock, std::try_to_lock).owns_lock(); }).join();
  return taken;
}

/// Whether the lock is free after work in a block of each form has thrown, and the exception has come through.
template <template <typename...> class Scope, typename Lock>
bool is_free_after_exceptions(Lock& lock) {
  int free = 0;
  try {
    in_scope<Scope>(lock, always_fails);
  } catch (const std::runtime_error&) {
    free += is_free(lock);
  }
  try {
    by_hand(lock, always_fails);
  } catch (const std::runtime_error&) {
    free += is_free(lock);
  }
  return free == 2;
}

/// Takes one lock in two threads, `thread` in a scope and the next one by hand.
template <template <typename...> class Scope, typename Lock>
void take_both_ways(cookbook::Verdict& verdict, Work& work, int thread, const std::string& name,
                    const std::string& scope, Lock& lock) {
  std::jthread first([&] { in_scope<Scope>(lock, [&] { work(thread, name + " taken by " + scope); }); });
  std::jthread second([&] { by_hand(lock, [&] { work(thread + 1, name + " taken by hand"); }); });
  first.join();
  second.join();
  verdict.equal(name + " is free after both", is_free(lock), true);
  verdict.equal(name + " is free after exceptions", is_free_after_exceptions<Scope>(lock), true);
}

/// Whether a condition that waits gives the lock back, so that another thread can come in, and takes it again.
bool wait_gives_back(std::mutex& guard, std::condition_variable& condition) {
  bool ready = false;
  std::unique_lock hold(guard);
  std::jthread other([&] {
    std::scoped_lock hold_too(guard);
    ready = true;
    condition.notify_one();
  });
  condition.wait(hold, [&] { return ready; });
  return hold.owns_lock();
}

/// A lock handed out of a function, still held.
std::unique_lock<std::mutex> taken(std::mutex& guard) { return std::unique_lock(guard); }

}  // namespace

int main(int argc, char** argv) {
  long delay_ms = 5;
  cookbook::Options options("Give a lock back on every way out of a block");
  options.add("delay-ms", delay_ms, "how long each thread keeps its lock", 0, 60'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  Work work{std::chrono::milliseconds(delay_ms)};
  std::mutex plain, guard;
  std::recursive_mutex recursive;
  std::condition_variable condition;
  SemaphoreLock semaphore;
  take_both_ways<std::lock_guard>(verdict, work, 1, "lock", "lock_guard", plain);
  take_both_ways<std::scoped_lock>(verdict, work, 3, "recursive lock", "scoped_lock", recursive);
  take_both_ways<std::unique_lock>(verdict, work, 5, "condition", "unique_lock", guard);
  take_both_ways<std::scoped_lock>(verdict, work, 7, "semaphore", "scoped_lock", semaphore);
  verdict.equal("threads that had their lock", work.done(), 8);
  verdict.equal("times that two were under one lock at once", work.overlaps(), 0);

  verdict.equal("a condition gives the lock back while it waits", wait_gives_back(guard, condition), true);
  {
    const std::unique_lock hold = taken(plain);
    verdict.equal("a lock handed out of a function is free", is_free(plain), false);
  }
  (void)std::scoped_lock(plain);  // has no name, so it ends at the semicolon, and the lock with it
  verdict.equal("a lock held without a name is free", is_free(plain), true);
  try {
    plain.lock();
    always_fails();
    plain.unlock();  // passed by
  } catch (const std::runtime_error&) {
    verdict.equal("a lock held in neither form is free after an exception", is_free(plain), false);
    plain.unlock();
  }
  return verdict.exit_code();
}
