// Timeouts and cancellation: the deadline and the naive form from inside, and the program seen from outside.

#define main main_of_the_program  // its functions are tested from inside, too
#include "04_async/timeouts_and_cancellation/timeouts_and_cancellation.cpp"
#undef main

#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using Clock = std::chrono::steady_clock;

template <typename Result>
Result run_loop(asio::awaitable<Result> work) {
  asio::io_context loop(1);
  std::future<Result> result = asio::co_spawn(loop, std::move(work), asio::use_future);
  loop.run();
  return result.get();
}

/// Each level waits for the next, and the deepest for long; notes in which order they end.
asio::awaitable<int> descend(std::vector<int>& ended, int level, int depth) {
  struct Note {
    std::vector<int>& ended;
    int level;
    ~Note() { ended.push_back(level); }
  } const note = {ended, level};
  if (level < depth) co_return co_await descend(ended, level + 1, depth);
  co_await pause(1h);
  co_return level;
}

TEST(timeouts_and_cancellation_deadline, reaches_the_deepest_coroutine_and_the_innermost_ends_first) {
  for (const int depth : {1, 2, 10, 1000}) {
    std::vector<int> ended, innermost_first;
    EXPECT_EQ(run_loop(within(1ms, descend(ended, 1, depth))), std::nullopt);
    for (int level = depth; level >= 1; --level) innermost_first.push_back(level);
    EXPECT_EQ(ended, innermost_first);
  }
}

TEST(timeouts_and_cancellation_deadline, gives_the_result_and_does_not_wait_for_the_limit) {
  const auto seven = []() -> asio::awaitable<int> { co_return 7; };
  const auto start = Clock::now();
  EXPECT_EQ(run_loop(within(1h, seven())), 7);
  EXPECT_LT(Clock::now() - start, 10min);
}

TEST(timeouts_and_cancellation_deadline, the_error_of_the_work_reaches_the_caller_and_does_not_wait_for_the_limit) {
  const auto fails = [](Duration after) -> asio::awaitable<std::string> {
    if (after > Duration::zero()) co_await pause(after);
    throw std::runtime_error("refused");
    co_return "";
  };
  for (const Duration after : {Duration::zero(), Duration(1ms)}) {
    const auto start = Clock::now();
    try {
      run_loop(within(1h, fails(after)));
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "refused");
    }
    EXPECT_LT(Clock::now() - start, 10min);
  }
}

TEST(timeouts_and_cancellation_deadline, an_error_after_the_limit_is_not_heard) {
  const auto fails_when_cancelled = []() -> asio::awaitable<int> {
    try {
      co_await pause(1h);
    } catch (const boost::system::system_error&) {
      throw std::runtime_error("too late");
    }
    co_return 1;
  };
  EXPECT_EQ(run_loop(within(1ms, fails_when_cancelled())), std::nullopt);
}

TEST(timeouts_and_cancellation_deadline, whoever_is_cancelled_from_outside_ends_with_operation_aborted) {
  std::vector<int> ended;
  asio::io_context loop(1);
  asio::cancellation_signal stop;
  auto result = asio::co_spawn(loop, within(1h, descend(ended, 1, 3)),
                               asio::bind_cancellation_slot(stop.slot(), asio::use_future));
  loop.poll();
  stop.emit(asio::cancellation_type::terminal);
  loop.restart();
  loop.run();
  EXPECT_EQ(ended, (std::vector<int>{3, 2, 1}));
  try {
    result.get();
    FAIL() << "not cancelled";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), asio::error::operation_aborted);
  }
}

TEST(timeouts_and_cancellation_deadline, comes_after_a_part_that_is_shielded) {
  std::vector<std::string> steps;
  const auto transfer = [&]() -> asio::awaitable<void> {
    steps.push_back("taken");
    co_await pause(20ms);
    steps.push_back("given");
  };
  const auto shop = [&]() -> asio::awaitable<int> {
    const auto executor = co_await asio::this_coro::executor;
    co_await asio::co_spawn(executor, transfer(),
                            asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
    co_await pause(1h);
    co_return 1;
  };
  EXPECT_EQ(run_loop(within(1ms, shop())), std::nullopt);
  EXPECT_EQ(steps, (std::vector<std::string>{"taken", "given"}));
}

/// The first form of a shield that comes to mind: the coroutine itself says that it is not to be cancelled.
TEST(timeouts_and_cancellation_deadline, is_lost_while_a_coroutine_disables_its_cancellation) {
  bool waited = false;
  const auto transfer = []() -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await pause(20ms);
    co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  };
  const auto shop = [&]() -> asio::awaitable<int> {
    co_await transfer();
    co_await pause(20ms);
    waited = true;
    co_return 1;
  };
  EXPECT_EQ(run_loop(within(1ms, shop())), std::nullopt) << "its result is dropped, too";
  EXPECT_TRUE(waited) << "the request has come while it was disabled";
}

TEST(timeouts_and_cancellation_deadline, does_not_reach_what_was_spawned_beside_the_work) {
  bool spawned_has_ended = false;
  const auto other = [&]() -> asio::awaitable<void> {
    co_await pause(20ms);
    spawned_has_ended = true;
  };
  const auto work = [&]() -> asio::awaitable<int> {
    asio::co_spawn(co_await asio::this_coro::executor, other(), asio::detached);
    co_await pause(1h);
    co_return 1;
  };
  EXPECT_EQ(run_loop(within(1ms, work())), std::nullopt);
  EXPECT_TRUE(spawned_has_ended);
}

TEST(timeouts_and_cancellation_deadline, a_spawned_coroutine_hears_terminal_and_no_milder_request) {
  for (const auto type : {asio::cancellation_type::total, asio::cancellation_type::partial}) {
    asio::io_context loop(1);
    asio::cancellation_signal stop;
    auto result = asio::co_spawn(loop, fetch("D", 20ms), asio::bind_cancellation_slot(stop.slot(), asio::use_future));
    loop.poll();
    stop.emit(type);
    loop.restart();
    loop.run();
    EXPECT_EQ(result.get(), "D");
  }
}

TEST(timeouts_and_cancellation_deadline, a_coroutine_that_swallows_the_request_hears_it_again_at_each_co_await) {
  int heard = 0;
  bool waited = false;
  const auto stubborn = [&]() -> asio::awaitable<int> {
    for (int i = 0; i < 10; ++i) {  // without this limit it would never end
      try {
        co_await pause(1h);
        waited = true;
      } catch (const boost::system::system_error& error) {
        heard += error.code() == asio::error::operation_aborted;
      }
    }
    co_return 1;
  };
  EXPECT_EQ(run_loop(within(1ms, stubborn())), std::nullopt);
  EXPECT_EQ(heard, 10);
  EXPECT_FALSE(waited);
}

TEST(timeouts_and_cancellation_deadline, if_one_of_a_group_fails_the_others_are_cancelled_and_the_group_throws) {
  std::vector<int> ended;
  const auto fails = []() -> asio::awaitable<int> {
    co_await pause(1ms);
    throw std::runtime_error("refused");
    co_return 1;
  };
  const auto both = [&]() -> asio::awaitable<void> { co_await (fails() && descend(ended, 1, 3)); };
  EXPECT_THROW(run_loop(both()), asio::multiple_exceptions);
  EXPECT_EQ(ended, (std::vector<int>{3, 2, 1}));
}

TEST(timeouts_and_cancellation_first_success, gives_what_comes_in_time_and_nothing_at_the_limit_or_of_an_error) {
  EXPECT_EQ(run_loop(first_success(1h, fetch("A", 1ms))), "A");
  EXPECT_EQ(run_loop(first_success(1ms, fetch("A", 1h))), std::nullopt);
  EXPECT_EQ(run_loop(first_success(1ms, fetch("A", Duration::zero(), true))), std::nullopt);
  EXPECT_EQ(held, 0);
}

TEST(timeouts_and_cancellation_abandoned, gives_what_is_there_at_the_limit_and_nothing_if_the_work_has_failed) {
  Answer answer;
  for (const Duration limit : {50ms, 500ms, 5000ms}) {  // on a busy machine the work, too, may come late
    answer = run_loop(abandon_after(limit, fetch("A", 1ms)));
    if (answer) break;
  }
  EXPECT_EQ(answer, "A");
  EXPECT_EQ(run_loop(abandon_after(100ms, fetch("A", 1ms, true))), std::nullopt);
  EXPECT_EQ(run_loop(abandon_after(1ms, fetch("A", 100ms))), std::nullopt);
  EXPECT_EQ(held, 0) << "the loop has run to the end of what was abandoned";
}

TEST(timeouts_and_cancellation, operations_run_at_the_same_time_and_leave_nothing_held) {
  for (const std::string unit_ms : {"1", "5"}) {
    // A busy machine can wake the loop when several timers are over already. So the order in which the operations end
    // has to be seen in one of a few runs, and all else in each.
    bool in_order = false;
    std::string text;
    for (int i = 0; i < 5 && !in_order; ++i) {
      const auto result = test_support::run("timeouts_and_cancellation", {"--unit-ms", unit_ms});
      text = result.text();
      ASSERT_EQ(result.exit_code, 0) << text;
      EXPECT_TRUE(
          result.has_line("ok    answers: [\"nothing\", \"nothing\", \"nothing\", \"refused\", \"A\", \"ABC\"]"))
          << text;
      // What is abandoned keeps a connection and a buffer.
      EXPECT_TRUE(result.has_line("ok    things held when the caller went on: [2, 0, 0, 0, 0, 0]")) << text;
      EXPECT_EQ(
          result.lines_with("^abandoned: .*the caller goes on, .*gave back buffer A, gave back connection A$").size(),
          1U)
          << text;
      EXPECT_EQ(
          result.lines_with("^cancelled: .*gave back buffer A, gave back connection A, the caller goes on$").size(), 1U)
          << text;
      EXPECT_TRUE(result.has_line("ok    things held at the end: 0")) << text;
      EXPECT_TRUE(result.has_line("ok    D was cancelled by hand: yes")) << text;
      // A is the longest and the first, and yet C ends first.
      in_order = result.has_line(
                     "abandoned: C is done, B is done, the caller goes on, A is done, gave back buffer A, gave "
                     "back connection A") &&
                 result.has_line(
                     "cancelled: C is done, B is done, gave back buffer A, gave back connection A, the caller "
                     "goes on");
    }
    EXPECT_TRUE(in_order) << text;
  }
}

TEST(timeouts_and_cancellation, the_caller_goes_on_at_the_limit_and_not_before) {
  const auto result = test_support::run("timeouts_and_cancellation", {"--unit-ms", "2"});
  std::vector<double> ms;
  for (const std::string& time : result.captures(" (\\d+\\.\\d) ms +\\d+$")) ms.push_back(std::stod(time));
  ASSERT_EQ(ms.size(), 6U) << result.text();
  EXPECT_EQ(result.captures("limit:? (\\d+) ms"), (std::vector<std::string>{"60", "2000"})) << result.text();
  // By timers, which are never early.
  for (const int line : {0, 1, 2}) EXPECT_GE(ms[line], 60) << result.text();
  EXPECT_GE(ms[3], 4) << "A is refused after two units\n" << result.text();
  EXPECT_GE(ms[4], 120) << "A computes for twice the limit\n" << result.text();
  EXPECT_GE(ms[5], 6) << "A, the longest of the three, takes three units\n" << result.text();
}

TEST(timeouts_and_cancellation, within_hears_a_refusal_before_the_limit_and_the_operator_alone_does_not) {
  bool heard_at_once = false;  // on a busy machine it may come late
  for (int i = 0; i < 5 && !heard_at_once; ++i) {
    const auto result = test_support::run("timeouts_and_cancellation", {"--unit-ms", "5"});
    const auto by_operator = result.captures("^A is refused, by \\|\\| +nothing +(\\d+\\.\\d) ms");
    const auto by_within = result.captures("^A is refused, within +refused +(\\d+\\.\\d) ms");
    ASSERT_EQ(by_operator.size(), 1U) << result.text();
    if (by_within.empty()) continue;
    heard_at_once = std::stod(by_within[0]) < 150;
  }
  EXPECT_TRUE(heard_at_once);
}

TEST(timeouts_and_cancellation, ctrl_c_ends_it_at_once) {
  const auto result =
      test_support::run("timeouts_and_cancellation", {"--unit-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
}

}  // namespace
