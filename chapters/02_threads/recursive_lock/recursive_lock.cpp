// Recursive lock
//
// A box counts its items. add() changes two numbers that belong together, and calls change(), which other threads may
// call as well and which locks, too. In three boxes another thread looks in the middle of add(): one locks for each
// number by itself, one holds a std::recursive_mutex, which the thread may lock again, and one needs no recursive
// mutex. Then the program locks a recursive mutex twice, and shows when another thread can have it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock [--items N]

#include <latch>
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

/// Another thread looks at the box in the middle of add() and afterwards. Returns what it finds.
template <typename Box>
std::vector<std::string> look_at_add(std::string_view name) {
  Box box;
  std::string in_the_middle;
  box.half_made = [&] { in_the_middle = box.look(); };
  box.add();
  cookbook::println("{:<32}{:<25}{}", name, in_the_middle, box.look());
  return {in_the_middle, box.look()};
}

/// One thread adds items while another removes as many. Returns how many are left.
template <typename Box>
int left_after(int items) {
  Box box;
  std::latch both_started(2);  // so that one thread has not finished before the other begins
  {
    std::jthread adder([&] {
      both_started.arrive_and_wait();
      for (int i = 0; i < items; ++i) box.add();
    });
    std::jthread remover([&] {
      both_started.arrive_and_wait();
      for (int i = 0; i < items; ++i) box.remove();
    });
  }
  return box.change(0);  // changes nothing and returns the total
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
  int items = 200'000;
  cookbook::Options options("Let a thread lock a mutex that it already holds");
  options.add("items", items, "items to add, and to remove", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::println("another thread looks            in the middle of add()   after add()");
  const auto two_step = look_at_add<TwoStepBox>("two locks, one after the other");
  const auto recursive = look_at_add<RecursiveBox>("recursive mutex");
  const auto plain = look_at_add<PlainBox>("plain mutex, locked once");

  std::recursive_mutex mutex;  // locked and unlocked by hand here, to look at it after each step
  std::vector<std::string> found;
  const auto look = [&](std::string_view step) {
    found.push_back(another_can_lock(mutex) ? "can lock it" : "has to wait");
    cookbook::println("recursive mutex, {:<15}{}", step, found.back());
  };
  cookbook::println("one thread has it                another thread");
  mutex.lock();
  mutex.lock();
  look("locked twice");
  mutex.unlock();
  look("unlocked once");
  mutex.unlock();
  look("unlocked twice");

  cookbook::Checks checks;
  const std::string half = "sees half a change", whole = "sees a whole change", waits = "has to wait";
  checks.equal("in the middle of add()", std::vector{two_step[0], recursive[0], plain[0]}, {half, waits, waits});
  checks.equal("after add()", std::vector{two_step[1], recursive[1], plain[1]}, {whole, whole, whole});
  checks.equal("recursive mutex", found, {waits, waits, "can lock it"});
  const std::vector<int> left = {left_after<TwoStepBox>(items), left_after<RecursiveBox>(items),
                                 left_after<PlainBox>(items)};
  checks.equal("items left after as many were added as removed", left, {0, 0, 0});
  return checks.exit_code();
}
