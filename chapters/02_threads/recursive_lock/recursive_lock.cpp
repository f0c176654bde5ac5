// Recursive lock
//
// A box counts its items. add() reads their number and sets it anew, by two methods that users may call as well and
// that lock the box. Two threads add a million items each, to boxes that lock in different ways. The program shows
// which of them lose items and how long an add() takes, and that one thread alone loses an item if it adds in the
// middle of a change of its own. With --times 2 it locks a recursive mutex twice instead, and shows when another thread
// can lock it.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock [--times N]

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "another_can_lock.hpp"
#include "box.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "error_checking_mutex.hpp"
#include "run_concurrently.hpp"

namespace {

constexpr int additions = 1'000'000;

/// Two threads add a million items each. Returns how many of the two million are not in the box in the end.
template <typename Box>
int lost_items() {
  Box box;
  run_concurrently(2, [&](int) {
    for (int i = 0; i < additions; ++i) box.add(1);
  });
  return 2 * additions - box.items();
}

/// The nanoseconds that an add() takes if no other thread uses the box; the best of five.
template <typename Box>
double time_of_add() {
  Box box;
  double seconds = 1;
  for (int round = 0; round < 5; ++round) {
    const cookbook::Stopwatch watch;
    for (int i = 0; i < additions / 10; ++i) box.add(1);
    seconds = std::min(seconds, watch.seconds());
  }
  return seconds / (additions / 10) * 1e9;
}

template <typename Box>
int report(std::string_view what) {
  const int lost = lost_items<Box>();
  cookbook::println("{:<37}{:5.1f} %{:11.0f} ns", what, 100.0 * lost / (2 * additions), time_of_add<Box>());
  return lost;
}

/// Whether add() fails, because it locks a mutex that its thread holds. (A std::mutex would wait for ever.)
bool second_lock_is_refused() {
  NestedBox<ErrorCheckingMutex> box;
  try {
    box.add(1);
    return false;
  } catch (const std::system_error& error) {
    return error.code() == std::errc::resource_deadlock_would_occur;
  }
}

/// One thread adds an item in the middle of a change that adds one. Returns how many of the two are lost.
int lost_inside_update() {
  NestedBox<std::recursive_mutex> box;
  box.update([&](int before) {
    box.add(1);  // by the thread that holds the lock
    return before + 1;
  });
  return 2 - box.items();
}

/// Locks a recursive mutex so many times, and unlocks it as often. Returns whether another thread could lock it after
/// the last unlock, and not before.
bool count_locks(int times) {
  std::recursive_mutex mutex;
  const auto another_can = [&](const std::string& step) {
    const bool can = another_can_lock(mutex);
    cookbook::println("{:<37}{}", step, can ? "can lock it" : "has to wait");
    return can;
  };
  cookbook::println("a recursive mutex                    another thread");
  for (int i = 0; i < times; ++i) mutex.lock();
  bool right = !another_can(fmt::format("locked, times: {}", times));
  for (int unlocked = 1; unlocked <= times; ++unlocked) {
    mutex.unlock();
    right &= another_can(fmt::format("unlocked, times: {}", unlocked)) == (unlocked == times);
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  int times = 0;
  cookbook::Options options("Let a method that locks call another one that locks");
  options.add("times", times, "lock a recursive mutex so many times instead, and see when it is free again", 0, 1000);
  options.parse(argc, argv);
  cookbook::Checks checks;
  if (times > 0) {
    checks.that("another thread can lock it after the last unlock only", count_locks(times));
    return checks.exit_code();
  }

  const bool refused = second_lock_is_refused();
  cookbook::println("add() of a box                       items lost   one add()");
  cookbook::println("{:<37}{}", "error-checking mutex, locked again", refused ? "refused: EDEADLK" : "not refused");
  const int recursive = report<NestedBox<std::recursive_mutex>>("recursive mutex, locked again");
  report<StepwiseBox<std::mutex>>("plain mutex, locked for each step");
  const int plain = report<PlainBox<std::mutex>>("plain mutex, locked once");

  const int inside = lost_inside_update();
  cookbook::println("{:<37}{:3} of 2", "recursive mutex, inside update()", inside);

  checks.that("a second lock of an error-checking mutex is refused", refused);
  checks.equal("items lost: recursive, inside update(), locked once", std::vector{recursive, inside, plain}, {0, 1, 0});
  return checks.exit_code();
}
