// The program's output, and TracedMutex from inside. A cure that can deadlock shows as a circle in the drawing, or as a
// program that runs into the limit.

#include "02_threads/deadlock/traced_mutex.hpp"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>

#include "support/run.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

test_support::Result run_with(long payments) {
  return run("deadlock", {"--payments", std::to_string(payments)}, {.limit = 10s});
}

/// The drawing of one form, turn by turn: from the line with its title to the line before the next title or check. What
/// A does is in the column that begins at 20, what B does in the one that begins at 60.
Lines drawing(const test_support::Result& result, const std::string& title) {
  Lines turns;
  for (const std::string& line : result.out) {
    const bool begins = line.starts_with(title);
    if (!begins && (turns.empty() || line[0] != ' ')) {
      if (!turns.empty()) break;
      continue;
    }
    const std::size_t of_b = line.find("B ", 59) == 60 ? 60 : line.size();
    for (const std::string& cell : {line.substr(20, of_b - 20), line.substr(of_b)}) {
      if (!cell.empty()) turns.push_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
    }
  }
  return turns;
}

TEST(deadlock, the_payers_lock_first_ends_in_a_circle) {
  for (int i = 0; i < 3; ++i) {
    const auto result = run_with(1);
    EXPECT_EQ(drawing(result, "payer's lock first"), (Lines{"A locks 1", "B locks 2", "A waits for 2, which B holds",
                                                            "B waits for 1, which A holds: for ever"}))
        << result.text();
  }
}

TEST(deadlock, in_a_fixed_order_nobody_holds_a_lock_that_the_other_needs_first) {
  const auto result = run_with(1);
  EXPECT_EQ(drawing(result, "fixed order"),
            (Lines{"A locks 1", "B waits for 1, which A holds", "A locks 2, pays, unlocks 2, unlocks 1",
                   "B locks 1, locks 2, pays, unlocks 2, unlocks 1"}))
      << result.text();
}

TEST(deadlock, whoever_locks_both_at_once_waits_with_empty_hands) {
  const auto result = run_with(1);
  const Lines lines = drawing(result, "both at once");
  ASSERT_EQ(lines.size(), 5U) << result.text();
  EXPECT_EQ(lines[0], "A locks 1");
  EXPECT_EQ(lines[1], "B locks 2");
  EXPECT_EQ(lines[2], "A finds 2 locked, unlocks 1");
  EXPECT_TRUE(lines[3].starts_with("B locks 1, pays, unlocks ")) << lines[3];
  // The standard leaves the order open; the libraries of GCC and LLVM begin with the lock that was taken.
  EXPECT_TRUE(lines[4].starts_with("A locks ")) << lines[4];
  EXPECT_NE(lines[4].find("pays, unlocks "), std::string::npos) << lines[4];
}

TEST(deadlock, every_cure_makes_all_payments_and_loses_no_money) {
  for (const long payments : {1L, 2L, 1'000L, 300'000L}) {
    const auto result = run_with(payments);
    ASSERT_FALSE(result.timed_out) << result.text();
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    payments made: [0, 2, 2]")) << result.text();
    // Account 1 pays 1 and gets 3 as often, both start with 3 per payment.
    const std::string balances = fmt::format("[{}, {}]", 5 * payments, payments);
    EXPECT_TRUE(result.has_line(fmt::format("ok    balances after all payments: [{}, {}]", balances, balances)))
        << result.text();
  }
}

TEST(deadlock, the_inverted_order_goes_unnoticed_without_a_tool) {
  const auto result =
      run("deadlock_inversion", {}, {.environment = {{"TSAN_OPTIONS", "exitcode=0 detect_deadlocks=0"}}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out, (Lines{"A held both", "B held both"}));
}

/// Thread i locks `first` and then `second` of step i, and holds both for a while. How many got both.
struct Step {
  int first, second;
};
int threads_that_got_both(const std::vector<Step>& steps, Trace& trace) {
  std::vector<std::unique_ptr<TracedMutex>> mutexes;
  for (std::size_t i = 0; i < 4; ++i) mutexes.push_back(std::make_unique<TracedMutex>(trace, i));
  std::atomic<int> got_both = 0;
  std::vector<std::function<void()>> threads;
  for (const Step& step : steps) {
    threads.emplace_back([&, step] {
      try {
        std::scoped_lock first(*mutexes[step.first]);
        std::scoped_lock second(*mutexes[step.second]);
        ++got_both;
      } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur);
      }
    });
  }
  trace.run(threads);
  return got_both;
}

int threads_that_got_both(const std::vector<Step>& steps) {
  Trace trace;
  return threads_that_got_both(steps, trace);
}

TEST(deadlock_traced_mutex, finds_circles_of_any_length) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(threads_that_got_both({{0, 0}}), 0) << "a thread that waits for itself";
    EXPECT_EQ(threads_that_got_both({{0, 1}, {1, 0}}), 0);
    EXPECT_EQ(threads_that_got_both({{0, 1}, {1, 2}, {2, 0}}), 0);
    EXPECT_EQ(threads_that_got_both({{0, 1}, {1, 2}, {2, 3}, {3, 0}}), 0);
  }
}

TEST(deadlock_traced_mutex, takes_a_chain_for_no_circle) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(threads_that_got_both({{0, 1}}), 1);
    EXPECT_EQ(threads_that_got_both({{0, 1}, {0, 1}, {0, 1}}), 3);
    EXPECT_EQ(threads_that_got_both({{0, 1}, {1, 2}, {2, 3}}), 3);
    EXPECT_EQ(threads_that_got_both({{0, 1}, {1, 2}, {0, 2}}), 3) << "a fixed order in a ring of three";
  }
}

TEST(deadlock_traced_mutex, draws_the_same_in_every_run) {
  std::vector<std::string> first;
  for (int round = 0; round < 100; ++round) {
    Trace trace;
    threads_that_got_both({{0, 1}, {1, 2}, {0, 2}}, trace);
    std::vector<std::string> drawn;
    for (const auto& [thread, what] : trace.events()) {
      EXPECT_EQ(what[0], 'A' + thread);
      drawn.push_back(what);
    }
    if (round == 0) first = drawn;
    ASSERT_EQ(drawn, first);
  }
  EXPECT_EQ(first[0], "A locks 0");
  EXPECT_EQ(first[1], "B locks 1");
  EXPECT_EQ(first[2], "C waits for 0, which A holds");
  EXPECT_EQ(first[3], "A waits for 1, which B holds");
}

TEST(deadlock_traced_mutex, a_thread_that_ends_does_not_pass_on_the_turn_of_another_one) {
  Trace trace;
  TracedMutex one(trace, 1), two(trace, 2), three(trace, 3), four(trace, 4);
  std::latch turn_of_c(1);
  const auto a = [&] {
    { std::scoped_lock lock(one); }
    turn_of_c.wait();  // it is B's turn when A has unlocked, and C's when A ends
  };
  const auto b = [&] {
    { std::scoped_lock lock(two); }
    std::scoped_lock lock(two);
  };
  const auto c = [&] {
    std::scoped_lock first(three);
    { std::scoped_lock second(four); }
    turn_of_c.count_down();
    std::this_thread::sleep_for(20ms);  // until A has ended; B waits for its turn
    std::scoped_lock second(four);
  };
  trace.run({a, b, c});
  Lines drawn;
  for (const auto& [thread, what] : trace.events()) drawn.push_back(what);
  EXPECT_EQ(drawn, (Lines{"A locks 1", "B locks 2", "C locks 3", "A unlocks 1", "B unlocks 2",
                          "C locks 4, unlocks 4, locks 4, unlocks 4, unlocks 3", "B locks 2, unlocks 2"}));
}

TEST(deadlock_traced_mutex, lets_in_one_thread_at_a_time) {
  Trace trace;
  TracedMutex mutex(trace, 1);
  int inside = 0, most = 0, visits = 0;  // no atomics: the mutex orders the threads
  const auto visit = [&] {
    for (int i = 0; i < 200; ++i) {
      std::scoped_lock lock(mutex);
      most = std::max(most, ++inside);
      ++visits;
      --inside;
    }
  };
  trace.run({visit, visit, visit});
  EXPECT_EQ(most, 1);
  EXPECT_EQ(visits, 600);
}

}  // namespace
