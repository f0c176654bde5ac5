// Event loop: the program seen from outside, and SmallLoop from inside. Catalogue: 4.C3, 4.2.

#include "04_async/event_loop/small_loop.hpp"

#include <string>
#include <vector>

#include "04_async/serving.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// The tests ask whether results are right, not how fast anything is: one measured round will do.
const test_support::Setting once = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};

const std::string call = "^function_(\\d) called$";

TEST(event_loop, nine_calls_in_a_ring) {
  const auto result = run("event_loop", {"--second-ms", "10"}, once);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures(call), (std::vector<std::string>{"1", "2", "3", "1", "2", "3", "1", "2", "3"}));
}

TEST(event_loop, a_deadline_of_d_seconds_gives_ceil_d_calls_and_at_least_one) {
  const std::map<std::string, int> expected = {{"0", 1}, {"0.5", 1}, {"1", 1}, {"1.5", 2}, {"3", 3}, {"8.25", 9}};
  for (const auto& [deadline, calls] : expected) {
    const auto result = run("event_loop", {"--deadline", deadline, "--second-ms", "5"}, once);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(static_cast<int>(result.captures(call).size()), calls) << deadline;
  }
}

TEST(event_loop, the_first_stop_ends_both_chains) {
  const auto result = run("event_loop", {"--chains", "2", "--second-ms", "10"}, once);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^function_[123] called$").size(), 9U);
  // The ring's ninth call stops the loop; the other chain's ninth may be in the same turn or is lost.
  const std::size_t self = result.lines_with("^function_4 called$").size();
  EXPECT_TRUE(self == 8 || self == 9) << result.text();
}

TEST(event_loop, loops_own_rules_hold) {
  const auto result = run("event_loop", {"--second-ms", "1"}, once);
  EXPECT_TRUE(result.has_line("ok    calls on the virtual clock: 9")) << result.text();
  EXPECT_TRUE(result.has_line("ok    last of them: function_3 at 8 s")) << result.text();
  EXPECT_TRUE(result.has_line("ok    callbacks left in the stopped loop: 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    timers due at once run in the order of scheduling: [0, 1, 2, 3, 4]"));
  EXPECT_TRUE(result.has_line("ok    callbacks run after stop: 0"));
  EXPECT_TRUE(result.has_line("ok    callbacks that overlapped: 0"));
  EXPECT_TRUE(result.has_line("ok    calls before their time: 0"));
}

TEST(small_loop, the_clock_goes_from_timer_to_timer) {
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

TEST(small_loop, a_callback_is_never_called_inside_the_call_that_queues_it) {
  SmallLoop loop;
  std::string order;
  loop.call_soon([&] {
    loop.call_soon([&] { order += "second"; });
    order += "first ";
  });
  loop.run();
  EXPECT_EQ(order, "first second");
}

TEST(small_loop, a_callback_that_queues_itself_does_not_hold_up_a_timer) {
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

TEST(event_loop, ctrl_c_ends_it) {
  test_support::Started loop("event_loop", {"--second-ms", "10000"});
  EXPECT_EQ(loop.read_line(), "function_1 called");
  loop.send_signal(SIGINT);
  EXPECT_EQ(loop.exit_code(), -2);
  EXPECT_EQ(loop.read_line(), "");
}

}  // namespace
