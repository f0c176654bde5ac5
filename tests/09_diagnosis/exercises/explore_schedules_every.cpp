// Tests an explore() that a learner has written.

#include "explorer.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "programs.hpp"

using judge::expect;

namespace {

/// What the programs below have seen of their runs.
std::map<std::string, int> orders;
std::string first_failing;

/// Threads that make so many steps each, which nothing holds up. A run fails if B makes the first step, and A the last.
template <int... steps>
struct Free {
  static constexpr int threads = sizeof...(steps);
  std::string order;

  void run(int number, SteppedThread& self) {
    constexpr std::array<int, threads> of_thread = {steps...};
    for (int i = 0; i < of_thread[number]; ++i) {
      self.step("goes on", [&] { order += static_cast<char>('A' + number); });
    }
  }
  std::string fault() const {
    ++orders[order];
    const bool fails = !order.empty() && order.front() == 'B' && order.back() == 'A';
    if (fails && first_failing.empty()) first_failing = order;
    return fails ? "it began with B" : "";
  }
};

template <typename Program>
Exploration<Program> explored(int max_preemptions = no_limit) {
  orders.clear();
  first_failing.clear();
  return explore<Program>(max_preemptions);
}

template <typename Program>
void expect_all(const std::string& what, long schedules, long failing, int max_preemptions = no_limit) {
  const Exploration<Program> found = explored<Program>(max_preemptions);
  for (const auto& [order, times] : orders)
    expect(times == 1, what + ": the order " + order + " was run more than once.");
  expect(found.schedules == schedules,
         fmt::format("{} can run in {} orders, and explore() says {}.", what, schedules, found.schedules));
  expect(orders.empty() || static_cast<long>(orders.size()) == schedules,
         fmt::format("{} can run in {} orders, and {} of them were run.", what, schedules, orders.size()));
  expect(found.failing == failing,
         fmt::format("{} fails in {} of its orders, and explore() says {}.", what, failing, found.failing));
  expect(found.first_failing.has_value() == (failing > 0), what + ": a run that failed is not there, or one that is.");
  if (failing == 0) return;
  expect(!found.first_failing->fault.empty(), what + ": the run that is kept is not one that failed.");
  expect(first_failing.empty() || found.first_failing->schedule == first_failing,
         what + ": the run that is kept is not the first run that failed.");
  expect(replay<Program>(found.first_failing->schedule).fault == found.first_failing->fault,
         what + ": the run that is kept does not fail when it is replayed.");
}

}  // namespace

int main() {
  expect_all<Free<0>>("A thread without a step", 1, 0);
  expect_all<Free<3>>("A thread with three steps", 1, 0);
  expect_all<Free<1, 1>>("Two threads with one step each", 2, 1);
  expect_all<Free<2, 2>>("Two threads with two steps each", 6, 2);
  expect_all<Free<3, 1>>("Two threads with three steps and with one", 4, 1);
  expect_all<Free<2, 0, 2, 1>>("Four threads, one of them without a step", 30, 0);
  expect_all<Free<2, 2, 2>>("Three threads with two steps each", 90, 12);
  expect_all<Free<1, 1, 1, 1>>("Four threads with one step each", 24, 2);
  expect_all<Free<1, 1, 1, 1, 1>>("Five threads with one step each", 120, 6);
  expect_all<Free<200, 1>>("Two threads with 200 steps and with one", 201, 1);
  expect_all<Free<8, 8>>("Two threads with eight steps each", 12'870, 3'432);
  expect_all<Free<2, 2>>("With no preemption, two threads with two steps each", 2, 1, 0);
  expect_all<Free<2, 2>>("With one preemption, two threads with two steps each", 4, 1, 1);
  expect_all<Update<2>>("An update by two threads", 6, 4);
  expect_all<LockedUpdate>("An update under a mutex", 2, 0);
  expect_all<Update<3>>("An update by three threads", 90, 84);
  expect_all<Queue<false>>("With one preemption, the queue of the recipe", 30, 2, 1);
  std::puts("every order came once");
}
