// The explorer against numbers that are known without it: multinomials, a formula for two threads and a bound, and a
// count of paths through the states of Peterson's lock, which is written down here a second time.

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <set>

#include "09_diagnosis/explore_schedules/explorer.hpp"
#include "09_diagnosis/explore_schedules/programs.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

struct explore_schedules : testing::Test {
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "sanitizers do not follow the fibers";
  }
};

long binomial(long n, long k) {
  long result = 1;
  for (long i = 1; i <= k; ++i) result = result * (n - k + i) / i;
  return k > n ? 0 : result;
}

/// Threads that make so many steps each, and note who made them.
template <int... steps>
struct Walk {
  static constexpr int threads = sizeof...(steps);
  static inline std::set<std::string> seen;
  std::string order;
  void run(int number, SteppedThread& self) {
    for (int i = 0; i < std::array{steps...}[static_cast<std::size_t>(number)]; ++i) {
      self.step("steps", [&] { order += static_cast<char>('A' + number); });
    }
  }
  std::string fault() const {
    seen.insert(order);
    return "";
  }
};

template <int... steps>
void expect_all_orders(long expected) {
  using Program = Walk<steps...>;
  Program::seen.clear();
  EXPECT_EQ(explore<Program>().schedules, expected);
  EXPECT_EQ(static_cast<long>(Program::seen.size()), expected) << "a schedule came twice";
}

TEST_F(explore_schedules, every_order_comes_once_as_many_as_the_multinomial_says) {
  expect_all_orders<1>(1);
  expect_all_orders<7>(1);
  expect_all_orders<1, 1>(2);
  expect_all_orders<2, 2>(6);
  expect_all_orders<3, 2>(10);
  expect_all_orders<5, 5>(252);
  expect_all_orders<1, 9>(10);
  expect_all_orders<2, 2, 2>(90);
  expect_all_orders<3, 1, 2>(60);
  expect_all_orders<1, 1, 1, 1>(24);
  expect_all_orders<2, 2, 2, 2>(2520);
  expect_all_orders<0, 3>(1);  // a thread without a step
}

/// Two threads with a and b steps: the orders with exactly p preemptions are those of p + 2 blocks of the same thread,
/// since one of the p + 1 changes comes when a thread has ended.
long with_preemptions(long a, long b, long p) {
  if (p % 2 == 0) return 2 * binomial(a - 1, p / 2) * binomial(b - 1, p / 2);
  const long m = p / 2 + 1;
  return binomial(a - 1, m) * binomial(b - 1, m - 1) + binomial(a - 1, m - 1) * binomial(b - 1, m);
}

template <int a, int b>
void expect_bounded_orders() {
  long expected = 0;
  for (int bound = 0; bound <= a + b; ++bound) {
    expected += with_preemptions(a, b, bound);
    EXPECT_EQ((explore<Walk<a, b>>(bound).schedules), expected) << a << " " << b << " " << bound;
  }
  EXPECT_EQ(expected, binomial(a + b, a));
}

TEST_F(explore_schedules, a_bound_leaves_out_exactly_the_schedules_with_more_preemptions) {
  expect_bounded_orders<2, 2>();
  expect_bounded_orders<3, 2>();
  expect_bounded_orders<4, 4>();
  expect_bounded_orders<1, 5>();
  expect_bounded_orders<5, 6>();
  EXPECT_EQ((explore<Walk<2, 2, 2, 2>>(0).schedules), 24);
  // One of n threads is cut in one of k - 1 places, and its second part does not follow its first one at once:
  // n! + n (k - 1) ((n + 1)! / 2 - n!)
  EXPECT_EQ((explore<Walk<6, 6, 6>>(1).schedules), 6 + 3 * 5 * 6);
  EXPECT_EQ((explore<Walk<3, 3, 3, 3>>(1).schedules), 24 + 4 * 2 * (60 - 24));
}

/// Counts the ways from a state to an end, once per state. `next` returns the states that one step leads to.
template <typename State>
long paths(const State& state, const std::function<std::vector<State>(const State&)>& next,
           std::map<State, long>& known) {
  if (const auto found = known.find(state); found != known.end()) return found->second;
  long sum = 0;
  const std::vector<State> following = next(state);
  for (const State& one : following) sum += paths(one, next, known);
  return known[state] = following.empty() ? 1 : sum;
}

/// Peterson's lock as a table of states: where the two threads stand, who is interested, whose turn it is. A run ends
/// when both have ended, or when both are inside.
long paths_of_peterson(bool turn_first) {
  using State = std::array<int, 5>;  // place of A, place of B, interest of A, interest of B, turn
  std::map<State, long> known;
  return paths<State>(
      {0, 0, 0, 0, 0},
      [&](const State& state) {
        std::vector<State> following;
        if (state[0] == 4 && state[1] == 4) return following;
        for (std::size_t me : {0U, 1U}) {
          const std::size_t other = 1 - me;
          State after = state;
          const int place = after[me]++;
          if (place == 6) continue;
          if (place == (turn_first ? 1 : 0)) after[2 + me] = 1;
          if (place == (turn_first ? 0 : 1)) after[4] = static_cast<int>(other);
          if (place == 2 && state[2 + other] == 1 && state[4] != static_cast<int>(me)) continue;
          if (place == 5) after[2 + me] = 0;
          following.push_back(after);
        }
        return following;
      },
      known);
}

TEST_F(explore_schedules, peterson_has_as_many_schedules_as_its_states_have_paths) {
  // By hand: if A gives the turn away last, only its first two steps have a choice. Either both come before B's third
  // step, in 3 ways, or both after it, in 4 + 3 + 2 + 1 ways. As many have B last.
  EXPECT_EQ(paths_of_peterson(false), 2 * (3 + 10));
  EXPECT_EQ(explore<Peterson<false>>().schedules, paths_of_peterson(false));
  EXPECT_EQ(explore<Peterson<false>>().failing, 0);
  EXPECT_EQ(explore<Peterson<true>>().schedules, paths_of_peterson(true));
  EXPECT_EQ(explore<Peterson<true>>().failing, 8);
  EXPECT_EQ(explore<Peterson<true>>(1).failing, 0) << "with one preemption";
  EXPECT_EQ(explore<Peterson<true>>(2).failing, 2) << "with two";
}

/// Peterson's lock with a step for each of the two loads, in this order; a thread looks three times, and then gives up.
template <bool turn_first>
struct PetersonWithTwoLoads {
  static constexpr int threads = 2;
  bool interested[2] = {};
  int turn = 0, inside = 0;
  void run(int me, SteppedThread& self) {
    const int other = 1 - me;
    if (turn_first) self.step("gives the turn away", [&] { turn = other; });
    self.step("is interested", [&] { interested[me] = true; });
    if (!turn_first) self.step("gives the turn away", [&] { turn = other; });
    bool may_go_on = false;
    for (int look = 0; look < 3 && !may_go_on; ++look) {
      self.step("looks at the interest", [&] { may_go_on = !interested[other]; });
      if (!may_go_on) self.step("looks at the turn", [&] { may_go_on = turn == me; });
    }
    if (!may_go_on) return;
    self.step("is inside", [&] { ++inside; });
    self.require(inside == 1, "both are inside");
    self.step("leaves", [&] { --inside; });
    self.step("has no interest", [&] { interested[me] = false; });
  }
  std::string fault() const { return ""; }
};

TEST_F(explore_schedules, peterson_has_the_same_verdicts_with_a_step_for_each_load) {
  EXPECT_EQ(explore<PetersonWithTwoLoads<false>>().failing, 0);
  EXPECT_GT(explore<PetersonWithTwoLoads<true>>().failing, 0);
}

TEST_F(explore_schedules, an_update_is_lost_unless_the_threads_come_one_after_the_other) {
  EXPECT_EQ(explore<Update<2>>().failing, 6 - 2);
  EXPECT_EQ(explore<Update<3>>().failing, 90 - 6);
  EXPECT_EQ(explore<Update<4>>().failing, 2520 - 24);
  EXPECT_EQ(explore<Update<2>>(0).failing, 0);
  EXPECT_EQ((explore<Update<2, 4>>().schedules), 12870);
  EXPECT_EQ((explore<Update<3, 3>>(1).schedules), 96);
  EXPECT_EQ(explore<Update<2>>().schedules, 6);
  EXPECT_EQ(explore<LockedUpdate>().failing, 0);
  EXPECT_EQ(explore<LockedUpdate>().schedules, 2);
}

/// Checks that each schedule that fails does so again, with the same steps.
template <typename Program>
void expect_replay() {
  for (const int bound : {2, 3, no_limit}) {
    const auto found = explore<Program>(bound).first_failing;
    ASSERT_TRUE(found);
    const Run<Program> again = replay<Program>(found->schedule);
    EXPECT_EQ(again.fault, found->fault);
    EXPECT_EQ(again.texts, found->texts);
    EXPECT_EQ(again.schedule, found->schedule);
    EXPECT_EQ(again.texts.size(), again.schedule.size());
  }
}

TEST_F(explore_schedules, a_failing_schedule_can_be_replayed) {
  expect_replay<Update<2>>();
  expect_replay<Update<3>>();
  expect_replay<Peterson<true>>();
  expect_replay<Queue<false>>();
}

TEST_F(explore_schedules, a_thread_that_is_not_ready_is_not_chosen) {
  EXPECT_THROW(replay<LockedUpdate>("AB"), std::invalid_argument);
  EXPECT_THROW(replay<Update<2>>("AAB"), std::invalid_argument) << "too short";
  EXPECT_THROW(replay<Update<2>>("AABBA"), std::invalid_argument) << "too long";
  EXPECT_THROW(replay<Update<2>>("AAC"), std::invalid_argument) << "no such thread";
  EXPECT_EQ(replay<LockedUpdate>("AAAABBBB").fault, "");
}

struct Endless {
  static constexpr int threads = 1;
  void run(int, SteppedThread& self) {
    for (;;) self.step("spins", [] {});
  }
  std::string fault() const { return ""; }
};

TEST_F(explore_schedules, a_run_without_an_end_is_a_fault) {
  const auto found = explore<Endless>();
  EXPECT_EQ(found.schedules, 1);
  EXPECT_EQ(found.first_failing.value().fault, "no end after 1000 steps");
}

struct Circle {
  static constexpr int threads = 2;
  static inline int alive = 0;
  struct Counted {
    Counted() { ++alive; }
    ~Counted() { --alive; }
  };
  Mutex mutexes[2];
  void run(int number, SteppedThread& self) {
    const Counted on_the_stack;
    mutexes[number].lock(self);
    mutexes[1 - number].lock(self);
    mutexes[0].unlock(self);
    mutexes[1].unlock(self);
  }
  std::string fault() const { return ""; }
};

TEST_F(explore_schedules, a_deadlock_is_a_fault_and_what_the_threads_have_is_freed) {
  // AB and BA end in the circle. Otherwise one thread has both locks first. If it is A, B waits for A's last step; if
  // it is B, A can lock mutex 0 before B's last step or after it.
  const auto found = explore<Circle>();
  EXPECT_EQ(found.failing, 2);
  EXPECT_EQ(found.schedules, 2 + 1 + 2);
  EXPECT_EQ(found.first_failing.value().schedule, "AB");
  EXPECT_EQ(found.first_failing->fault, "A never locks, B never locks");
  EXPECT_EQ(Circle::alive, 0);
  EXPECT_EQ(explore<Circle>(0).failing, 0);
}

TEST_F(explore_schedules, the_queue_fails_where_the_notification_goes_to_the_wrong_thread) {
  EXPECT_EQ(explore<Queue<false>>(0).failing, 2) << "B and C in either order";
  EXPECT_EQ(explore<Queue<false>>().failing, 2);
  EXPECT_EQ(explore<Queue<true>>().failing, 0);
  const auto found = explore<Queue<false>>().first_failing;
  EXPECT_EQ(found.value().fault, "A never wakes, C never wakes");
}

TEST_F(explore_schedules, two_condition_variables_make_notify_one_right) {
  EXPECT_EQ(explore<TwoConditionQueue>().failing, 0);
  EXPECT_EQ(explore<TwoConditionQueue>().schedules, 28) << "counted by another program, too";
}

TEST_F(explore_schedules, the_program_prints_the_schedules_and_what_happens_in_one_that_fails) {
  const auto result = run("explore_schedules", {});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(
      result.out,
      (std::vector<std::string>{
          "program                     schedules   failing", "queue, notify_one                  30         2",
          "queue, notify_all                  40         0", "queue, two conditions              28         0", "",
          "The queue with notify_one fails in the schedule BBCCAAAAAABBBBCC:", "B locks, finds it empty, waits",
          "C locks, finds it empty, waits", "A locks, puts, notifies B, unlocks, locks, finds it full, waits",
          "B wakes, takes, notifies C, unlocks", "C wakes, finds it empty, waits", "A never wakes, C never wakes",
          "ok    schedules that fail with notify_one: 2", "ok    schedules that fail with notify_all: 0",
          "ok    schedules that fail with two conditions: 0"}));
}

TEST_F(explore_schedules, the_program_replays_a_schedule) {
  const auto result = run("explore_schedules", {"--schedule", "ABBA"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            (std::vector<std::string>{"A loads 0", "B loads 0, stores 1", "A stores 1", "an update is lost"}));
  EXPECT_EQ(run("explore_schedules", {"--schedule", "BBAA"}).exit_code, 0);
  for (const std::string schedule : {"A", "ABBAA", "AAAA", "abba", "AC", "A B B A"}) {
    const auto refused = run("explore_schedules", {"--schedule", schedule});
    EXPECT_EQ(refused.exit_code, 2) << refused.text();
    EXPECT_EQ(refused.err.size(), 1U) << refused.text();
  }
  for (const std::string program : {"locked_update", "peterson", "queue", "queue_notify_all"}) {
    EXPECT_EQ(run("explore_schedules", {"--program", program, "--schedule", "AB"}).exit_code, 2);
  }
}

}  // namespace
