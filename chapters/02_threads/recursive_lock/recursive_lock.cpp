// Recursive lock
//
// A box counts its items. add() reads their number and sets it anew, by two methods that users may call as well and
// that lock the box. In three boxes another thread wants to add an item in the middle of add(): one locks twice, once
// for each step, one holds a std::recursive_mutex, which the thread may lock again, and one needs no recursive mutex.
// Then the program locks a recursive mutex twice, and shows when another thread can lock it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock

#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "box.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// One thread adds an item, and in the middle of that another thread wants to add one, too: at once if the box is free,
/// else afterwards. Returns how many items there are in the end.
template <typename Box>
int add_two(std::string_view name) {
  Box box;
  const auto add_by_another_thread = [&] { std::jthread([&] { box.add(1); }).join(); };
  bool came_between = false;
  box.add(1, [&] {
    came_between = box.is_free();
    if (came_between) add_by_another_thread();
  });
  if (!came_between) add_by_another_thread();
  cookbook::println("{:<33}{:<17}{:13}", name, came_between ? "adds one, too" : "has to wait", box.items());
  return box.items();
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Let a thread lock a mutex that it already holds");
  options.parse(argc, argv);

  cookbook::println("a thread adds an item            another thread   items in the end");
  const int two_step = add_two<TwoStepBox>("two steps with a lock each");
  const int recursive = add_two<RecursiveBox>("recursive mutex, locked again");
  const int plain = add_two<PlainBox>("plain mutex, locked once");

  std::recursive_mutex mutex;  // locked and unlocked by hand here, to look at it after each step
  const auto look = [&](std::string_view step) {
    cookbook::println("{:<33}{}", step, another_can_lock(mutex) ? "can lock it" : "has to wait");
  };
  cookbook::println("\na recursive mutex, by hand       another thread");
  mutex.lock();
  mutex.lock();
  look("locked twice");
  mutex.unlock();
  look("unlocked once");
  mutex.unlock();
  look("unlocked twice");

  cookbook::Checks checks;
  checks.equal("items in the end", std::vector{two_step, recursive, plain}, {1, 2, 2});
  return checks.exit_code();
}
