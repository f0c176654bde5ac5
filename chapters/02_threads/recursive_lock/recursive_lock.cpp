// Recursive lock
//
// A box counts its items. Its methods add() and remove() lock the box's mutex and call change(), which locks it, too.
// With a std::mutex the thread would wait for itself for ever. A std::recursive_mutex lets the thread that holds it
// lock it again. A second box shows how to do without: its public methods lock, and a private one does the work.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock [--items N] [--pause-ms N]

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "box.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// One thread adds items while another removes as many, and a third one tests the box's invariant all the time.
template <typename Box>
void add_and_remove(cookbook::Checks& checks, const std::string& name, int items, std::chrono::milliseconds pause) {
  cookbook::println("{}:", name);
  Box box;
  std::jthread adder([&] {
    for (int i = 0; i < items; ++i) {
      cookbook::println("added one item, total {}", box.add());
      std::this_thread::sleep_for(pause);
    }
  });
  std::jthread remover([&] {
    for (int i = 0; i < items; ++i) {
      cookbook::println("removed one item, total {}", box.remove());
      std::this_thread::sleep_for(pause);
    }
  });
  std::atomic<bool> finished = false;
  int violations = 0;
  std::jthread watcher([&] {
    while (!finished) {
      violations += !box.is_consistent();
      std::this_thread::yield();
    }
  });
  adder.join();
  remover.join();
  finished = true;
  watcher.join();
  checks.equal(name + ", items left", box.change(0), 0);  // change(0) changes nothing and returns the total
  checks.equal(name + ", violations of its invariant", violations, 0);
}

/// Whether a thread other than the caller can lock the mutex now; if so, it unlocks it again.
bool another_can_lock(std::recursive_mutex& mutex) {
  bool locked = false;
  std::jthread([&] {
    std::unique_lock attempt(mutex, std::try_to_lock);
    locked = attempt.owns_lock();
  }).join();
  return locked;
}

}  // namespace

int main(int argc, char** argv) {
  int items = 5, pause_ms = 20;
  cookbook::Options options("Let a thread lock a mutex that it already holds");
  options.add("items", items, "items to add, and to remove", 1, 10'000);
  options.add("pause-ms", pause_ms, "pause of each thread after each item, in ms", 0, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds pause(pause_ms);

  cookbook::Checks checks;
  add_and_remove<RecursiveBox>(checks, "recursive box", items, pause);
  add_and_remove<PlainBox>(checks, "plain box", items, pause);

  std::recursive_mutex mutex;  // locked and unlocked by hand here, to look at it after each step
  mutex.lock();
  mutex.lock();
  checks.equal("locked twice: another thread can lock it", another_can_lock(mutex), false);
  mutex.unlock();
  checks.equal("locked twice, unlocked once: another thread can lock it", another_can_lock(mutex), false);
  mutex.unlock();
  checks.equal("locked twice, unlocked twice: another thread can lock it", another_can_lock(mutex), true);
  return checks.exit_code();
}
