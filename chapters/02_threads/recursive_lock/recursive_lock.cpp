// Recursive lock
//
// A box counts its items. add() changes two numbers that belong together, and calls change(), which other threads may
// call as well and which locks, too. In three boxes another thread looks in the middle of add(): one locks for each
// number by itself, one holds a std::recursive_mutex, which the thread may lock again, and one needs no recursive
// mutex. Then the program locks a recursive mutex twice, and shows when another thread can have it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock

#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "box.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

struct Found {
  std::string by_another_thread, by_change;
};

/// Adds an item. Returns what another thread finds in the middle of it, and what change() finds if add() calls it.
template <typename Box>
Found add_to(std::string_view name) {
  Box box;
  Found found;
  box.half_made = [&] { found.by_another_thread = box.look(); };
  box.add();
  found.by_change = box.found_by_change;
  cookbook::println("{:<32}{:<17}{}", name, found.by_another_thread, found.by_change);
  return found;
}

/// Whether a thread other than the caller can lock the mutex now; if so, it unlocks it again.
bool another_can_lock(std::recursive_mutex& mutex) {
  bool locked = false;
  std::jthread([&] {
    locked = mutex.try_lock();
    if (locked) mutex.unlock();
  }).join();
  return locked;
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Let a thread lock a mutex that it already holds");
  options.parse(argc, argv);

  cookbook::println("in the middle of add()          another thread   change() finds");
  const Found two_step = add_to<TwoStepBox>("two locks, one after the other");
  const Found recursive = add_to<RecursiveBox>("recursive mutex, locked twice");
  const Found plain = add_to<PlainBox>("plain mutex, locked once");

  std::recursive_mutex mutex;  // locked and unlocked by hand here, to look at it after each step
  std::vector<std::string> found;
  const auto look = [&](std::string_view step) {
    found.push_back(another_can_lock(mutex) ? "can lock it" : "has to wait");
    cookbook::println("{:<32}{}", step, found.back());
  };
  cookbook::println("a recursive mutex, by hand      another thread");
  mutex.lock();
  mutex.lock();
  look("locked twice");
  mutex.unlock();
  look("unlocked once");
  mutex.unlock();
  look("unlocked twice");

  cookbook::Checks checks;
  const std::string half = "half a change", waits = "has to wait";
  checks.equal("another thread",
               std::vector{two_step.by_another_thread, recursive.by_another_thread, plain.by_another_thread},
               {half, waits, waits});
  checks.equal("change()", std::vector{two_step.by_change, recursive.by_change, plain.by_change},
               {half, half, "is not called"});
  checks.equal("by hand", found, {waits, waits, "can lock it"});
  return checks.exit_code();
}
