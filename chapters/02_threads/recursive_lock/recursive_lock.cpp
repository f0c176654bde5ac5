// Let a thread lock a mutex that it already holds
//
// A box counts its items. add() reads their number and sets it anew, by two methods that users may call as well and
// that lock the box. Another thread wants to add an item, too. The program shows for four boxes whether it comes
// between the two steps of add(), how many items there are in the end, and how long an add() takes. Then it locks a
// recursive mutex twice, and shows when another thread can lock it.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/recursive_lock/recursive_lock.cpp common/cookbook/*.cpp -lfmt -pthread -o recursive_lock
// Run:     recursive_lock

#include <algorithm>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

#include "box.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "demonstration.hpp"

namespace {

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

/// The nanoseconds that an add() takes if no other thread uses the box; the best of five.
template <typename Box>
double time_of_add() {
  constexpr int additions = 100'000;
  Box box;
  double seconds = 1;
  for (int round = 0; round < 5; ++round) {
    const cookbook::Stopwatch watch;
    for (int i = 0; i < additions; ++i) box.add(1);
    seconds = std::min(seconds, watch.seconds());
  }
  return seconds / additions * 1e9;
}

/// One thread adds an item, and another one adds one, too, as soon as it can lock the box. Returns how many items there
/// are in the end.
template <template <typename> typename Box, typename Mutex>
int add_two(std::string_view name) {
  Box<Watched<Mutex>> box;
  int found = 0;
  other_thread = [&] {
    found = box.items();
    box.add(1);
  };
  box.add(1);
  cookbook::println("{:<36}{:<21}{:16}{:8.0f} ns", name, found == 0 ? "between the steps" : "after both steps",
                    box.items(), time_of_add<Box<Mutex>>());
  return box.items();
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Let a thread lock a mutex that it already holds");
  options.parse(argc, argv);

  const bool refused = second_lock_is_refused();
  cookbook::println("add() of a box                      another thread adds  items in the end  one add()");
  cookbook::println("{:<36}{}", "plain mutex, locked again", refused ? "never: deadlock" : "at some time");
  const int recursive = add_two<NestedBox, std::recursive_mutex>("recursive mutex, locked again");
  const int two_step = add_two<TwoStepBox, std::mutex>("plain mutex, locked for each step");
  const int plain = add_two<PlainBox, std::mutex>("plain mutex, locked once");

  std::recursive_mutex mutex;  // locked and unlocked by hand here, to look at it after each step
  const auto look = [&](std::string_view step) {
    cookbook::println("{:<36}{}", step, another_can_lock(mutex) ? "can lock it" : "has to wait");
  };
  cookbook::println("\na recursive mutex, by hand          another thread");
  mutex.lock();
  mutex.lock();
  look("locked twice");
  mutex.unlock();
  look("unlocked once");
  mutex.unlock();
  look("unlocked twice");

  NestedBox<std::recursive_mutex> box;
  box.update([&](int before) {
    box.add(1);  // by the thread that holds the lock
    return before + 1;
  });

  cookbook::Checks checks;
  checks.that("a second lock of an error-checking mutex is refused", refused);
  checks.equal("items in the end", std::vector{recursive, two_step, plain}, {2, 1, 2});
  checks.equal("items after an add() in the middle of an update()", box.items(), 1);
  return checks.exit_code();
}
