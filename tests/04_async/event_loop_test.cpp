// The program's output, SmallLoop from inside, and what the page says about Asio's loop.

#include "04_async/event_loop/small_loop.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/run.hpp"

namespace {

namespace asio = boost::asio;
using test_support::run;

TEST(event_loop, what_is_due_every_two_three_and_five_seconds_is_called_then) {
  const auto result = run("event_loop", {"--period-ms", "2", "--work-us", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(
      result.captures("^ *(\\d+ s  what is due every \\d) s$"),
      (std::vector<std::string>{"2 s  what is due every 2", "3 s  what is due every 3", "4 s  what is due every 2",
                                "5 s  what is due every 5", "6 s  what is due every 3", "6 s  what is due every 2"}));
  EXPECT_EQ(result.captures("^ *(\\d+) ms +-?\\d+\\.\\d+ ms"), (std::vector<std::string>{"0", "8", "16"}));
  EXPECT_TRUE(result.has_line("ok    no call came early: yes")) << result.text();
}

TEST(event_loop, the_small_loop_is_stopped_at_the_deadline_and_ends_its_turn) {
  const std::map<std::string, std::string> expected = {
      {"0", "[]"}, {"1", "[]"}, {"2", "[2]"}, {"5", "[2, 3, 2, 5]"}, {"10", "[2, 3, 2, 5, 3, 2, 2, 3, 5, 2]"}};
  for (const auto& [deadline, calls] : expected) {
    const auto result = run("event_loop", {"--deadline", deadline, "--period-ms", "1", "--work-us", "0"});
    ASSERT_EQ(result.exit_code, 0) << deadline << result.text();
    EXPECT_TRUE(result.has_line("ok    called, by their periods: " + calls)) << result.text();
  }
}

/// The lateness in milliseconds of the fifth call and of the ninth, in the column that the expression captures.
std::pair<double, double> late_in_the_middle_and_at_the_end(const test_support::Result& result,
                                                            const std::string& expression) {
  const std::vector<std::string> late = result.captures(expression);
  if (late.size() != 3) return {-1e9, 1e9};
  return {std::stod(late[1]), std::stod(late[2])};
}

TEST(event_loop, the_work_of_the_callbacks_adds_up_only_if_periods_are_counted_from_now) {
  // A call is late by the work of all callbacks before it at least: 5 ms each. The other column may be late by what
  // else this machine does, but not twice by so much, in each of ten runs.
  bool adds_up = true, is_late_at_once = true;
  for (int tries = 0; tries < 10 && (adds_up || is_late_at_once); ++tries) {
    const auto result = run("event_loop", {"--period-ms", "20", "--work-us", "5000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto [from_now_middle, from_now_end] =
        late_in_the_middle_and_at_the_end(result, "^ *\\d+ ms +(-?\\d+\\.\\d+) ms");
    EXPECT_GE(from_now_middle, 4 * 5.0) << result.text();
    EXPECT_GE(from_now_end, 8 * 5.0) << result.text();
    const auto [from_due_middle, from_due_end] = late_in_the_middle_and_at_the_end(result, "ms +(-?\\d+\\.\\d+) ms$");
    EXPECT_GE(std::min(from_due_middle, from_due_end), 0.0) << result.text();  // a timer is never early
    is_late_at_once = std::stod(result.captures("^ *0 ms +(-?\\d+\\.\\d+) ms").at(0)) >= 5.0;
    adds_up = from_due_middle >= 4 * 5.0 && from_due_end >= 8 * 5.0;
  }
  EXPECT_FALSE(adds_up);
  EXPECT_FALSE(is_late_at_once) << "the first call has computed before it looked at the clock";
}

TEST(event_loop, real_periods_are_waited_for) {
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run("event_loop", {"--period-ms", "20", "--work-us", "0"}).exit_code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2 * 8 * 20));
}

TEST(event_loop_small_loop, the_clock_goes_from_timer_to_timer) {
  SmallLoop loop;
  std::vector<double> times;
  loop.call_later(3, [&] { times.push_back(loop.time()); });
  loop.call_later(1, [&] {
    times.push_back(loop.time());
    loop.call_later(0.5, [&] { times.push_back(loop.time()); });
    loop.call_soon([&] { times.push_back(loop.time()); });
  });
  loop.run();
  EXPECT_EQ(times, (std::vector{1.0, 1.0, 1.5, 3.0}));
  EXPECT_EQ(loop.pending(), 0U);
}

TEST(event_loop_small_loop, a_callback_is_never_called_inside_the_call_that_queues_it) {
  SmallLoop loop;
  std::string order;
  loop.call_soon([&] {
    loop.call_soon([&] { order += "second"; });
    order += "first ";
  });
  loop.run();
  EXPECT_EQ(order, "first second");
}

TEST(event_loop_small_loop, of_timers_due_together_the_one_scheduled_first_goes_first) {
  SmallLoop loop;
  std::vector<int> order, expected;
  for (int i = 0; i < 100; ++i) {
    loop.call_later(i % 2 == 0 ? 1 : 2, [&, i] { order.push_back(i); });
  }
  for (int i = 0; i < 100; i += 2) expected.push_back(i);
  for (int i = 1; i < 100; i += 2) expected.push_back(i);
  loop.run();
  EXPECT_EQ(order, expected);
}

TEST(event_loop_small_loop, a_callback_that_queues_itself_does_not_hold_up_a_timer) {
  SmallLoop loop;
  int turns = 0;
  std::function<void()> again = [&] {
    if (++turns < 1000) loop.call_soon(again);
  };
  loop.call_soon(again);
  loop.call_later(0, [&] { loop.stop(); });
  loop.run();
  EXPECT_LT(turns, 10);
  EXPECT_EQ(loop.pending(), 1U);  // the next turn of it
}

TEST(event_loop_small_loop, stop_lets_the_turn_end_and_keeps_what_is_queued) {
  SmallLoop loop;
  std::string called;
  loop.call_soon([&] {
    called += "a";
    loop.stop();
    loop.call_soon([&] { called += "c"; });
  });
  loop.call_soon([&] { called += "b"; });
  loop.call_later(5, [&] { called += "d"; });
  loop.run();
  EXPECT_EQ(called, "ab");
  EXPECT_EQ(loop.pending(), 2U);
  loop.run();
  EXPECT_EQ(called, "abcd");
}

TEST(event_loop_small_loop, two_chains_take_turns_and_the_first_stop_ends_both) {
  SmallLoop loop;
  std::string called;
  std::function<void(char, int)> chain = [&](char name, int left) {
    called += name;
    if (left == 0) return loop.stop();
    loop.call_later(1, [&chain, name, left] { chain(name, left - 1); });
  };
  loop.call_soon([&] { chain('a', 2); });
  loop.call_soon([&] { chain('b', 9); });
  loop.run();
  EXPECT_EQ(called, "ababab");
}

TEST(event_loop_asio_loop, stop_ends_run_after_the_callback_that_runs_and_keeps_the_others) {
  asio::io_context loop;
  std::string called;
  asio::post(loop, [&] {
    called += "a";
    loop.stop();
  });
  asio::post(loop, [&] { called += "b"; });
  loop.run();
  EXPECT_EQ(called, "a");
  loop.run();  // returns at once
  EXPECT_EQ(called, "a");
  loop.restart();
  loop.run();
  EXPECT_EQ(called, "ab");
}

TEST(event_loop_asio_loop, a_timer_that_is_set_anew_calls_its_callback_with_an_error) {
  asio::io_context loop;
  asio::steady_timer timer(loop, std::chrono::hours(1));
  boost::system::error_code seen;
  timer.async_wait([&](const boost::system::error_code& error) { seen = error; });
  timer.expires_after(std::chrono::milliseconds(1));
  loop.run();
  EXPECT_EQ(seen, asio::error::operation_aborted);
}

}  // namespace
