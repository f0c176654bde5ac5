// Async futures: the program seen from outside, Future and LoopTime from inside. Catalogue: 4.C6, 4.5, 4.6.

#include "04_async/async_futures/future.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "04_async/loop_time.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

const std::string first = "first coroutine (sum of N integers) result = ";
const std::string second = "second coroutine (factorial) result = ";

std::vector<std::string> results(const test_support::Result& result) { return result.captures("^(.* result = .*)$"); }

TEST(async_futures, values_for_all_pairs_of_numbers) {
  struct Case {
    std::string sum, factorial, total, product;
  };
  const std::vector<Case> cases = {{"1", "1", "1", "1"},
                                   {"2", "2", "3", "2"},
                                   {"3", "3", "6", "6"},
                                   {"5", "5", "15", "120"},
                                   {"1", "10", "1", "3628800"},
                                   {"0", "0", "0", "1"},
                                   {"1000000", "20", "500000500000", "2432902008176640000"}};
  for (const Case& c : cases) {
    for (const std::string second_ms : {"0", "1"}) {
      const auto result = run("async_futures", {"--sum", c.sum, "--factorial", c.factorial, "--second-ms", second_ms});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(results(result),
                (std::vector<std::string>{first + c.total, second + c.product, second + c.product, first + c.total}));
    }
  }
}

TEST(async_futures, delays_alone_decide_the_order) {
  const std::string one = first + "1", other = second + "3628800";
  const std::map<std::pair<std::string, std::string>, std::vector<std::string>> expected = {
      {{"4", "3"}, {other, one, one, other}},      {{"3", "4"}, {one, other, other, one}},
      {{"0", "1"}, {one, other, other, one}},      {{"1", "0"}, {other, one, one, other}},
      {{"0.5", "0.25"}, {other, one, one, other}}, {{"2", "2"}, {one, other, one, other}},
      {{"0", "0"}, {one, other, one, other}}};
  for (const auto& [delays, lines] : expected) {
    for (const std::string second_ms : {"0", "20"}) {
      const auto result = run("async_futures", {"--sum", "1", "--factorial", "10", "--first-delay", delays.first,
                                                "--second-delay", delays.second, "--second-ms", second_ms});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(results(result), lines) << delays.first << " and " << delays.second << " s\n" << result.text();
      EXPECT_TRUE(result.has_line("ok    seconds until the last: " + std::max(delays.first, delays.second)))
          << result.text();
    }
  }
}

TEST(async_futures, a_factorial_beyond_64_bits_is_refused) {
  const auto result = run("async_futures", {"--factorial", "21"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err.size(), 1U);
  EXPECT_TRUE(result.out.empty());
}

TEST(async_futures, every_change_of_state_is_as_it_must_be) {
  const auto result = run("async_futures", {"--second-ms", "0"});
  for (const std::string line : {
           "reading before it is done: the future has no result yet",
           "callbacks called by set_result itself: 0",
           "called by the loop: [\"seven\"]",
           "setting a result twice: the future is done already",
           "setting an exception then: the future is done already",
           "cancelling it then: false",
           "a callback that is added late hears it too: [\"seven\", \"seven\"]",
           "cancelling a pending one: true",
           "callbacks removed: 2",
           "heard of an exception, a cancellation, nothing: [\"no such file\", \"the future was cancelled\"]",
           "setting the result of a cancelled one: the future is done already",
           "a coroutine waits for the future: true",
           "and goes on with the result: seven",
           "or with the exception: no such file",
           "or with the cancellation: the future was cancelled",
       })
    EXPECT_TRUE(result.has_line("ok    " + line)) << line << "\n" << result.text();
}

namespace asio = boost::asio;

TEST(future, knows_whether_it_was_cancelled) {
  asio::io_context loop(1);
  Future<int> pending(loop), cancelled(loop), failed(loop);
  EXPECT_FALSE(cancelled.cancelled());
  EXPECT_TRUE(cancelled.cancel());
  EXPECT_TRUE(cancelled.cancelled());
  EXPECT_TRUE(cancelled.done());
  EXPECT_FALSE(cancelled.cancel());
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no such file")));
  EXPECT_TRUE(failed.done());
  EXPECT_FALSE(failed.cancelled());
  EXPECT_FALSE(pending.done());
  EXPECT_FALSE(pending.cancelled());
}

TEST(future, a_coroutine_may_wait_for_one_whose_object_is_gone) {
  asio::io_context loop(1);
  auto mine = std::make_optional<Future<std::string>>(loop);
  Future<std::string> copy = *mine;
  std::future<std::string> got = asio::co_spawn(loop, mine->wait(), asio::use_future);
  mine.reset();  // before the coroutine has begun
  copy.set_result("seven");
  loop.run();
  EXPECT_EQ(got.get(), "seven");
}

/// How a coroutine ended that was cancelled: by operation_aborted, by another exception, or not at all.
template <typename Result>
std::string end_of_cancelled(asio::io_context& loop, asio::awaitable<Result> work) {
  asio::cancellation_signal stop;
  std::string end = "it waits still";
  asio::co_spawn(loop, std::move(work),
                 asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr error, auto...) {
                   try {
                     if (error) std::rethrow_exception(error);
                     end = "it went on";
                   } catch (const boost::system::system_error& thrown) {
                     end = thrown.code() == asio::error::operation_aborted ? "aborted" : thrown.what();
                   } catch (const std::exception& thrown) {
                     end = thrown.what();
                   }
                 }));
  loop.poll();
  stop.emit(asio::cancellation_type::terminal);
  loop.restart();
  loop.poll();
  return end;
}

TEST(future, a_wait_that_is_cancelled_says_so) {
  asio::io_context loop(1);
  Future<std::string> never(loop);
  EXPECT_EQ(end_of_cancelled(loop, never.wait()), "aborted");
  EXPECT_FALSE(never.done());
}

TEST(loop_time, a_virtual_sleep_that_is_cancelled_says_so_and_is_forgotten) {
  asio::io_context loop(1);
  LoopTime time(loop, std::chrono::milliseconds(0));
  EXPECT_EQ(end_of_cancelled(loop, time.sleep(5)), "aborted");
  asio::co_spawn(loop, time.sleep(2), asio::detached);
  loop.restart();
  time.run();
  EXPECT_EQ(time.now(), 2);  // not 5
}

TEST(loop_time, who_fell_asleep_first_wakes_first) {
  for (const int second_ms : {0, 1}) {
    asio::io_context loop(1);
    LoopTime time(loop, std::chrono::milliseconds(second_ms));
    std::string order;
    const auto sleeper = [&](char name, double seconds) -> asio::awaitable<void> {
      co_await time.sleep(seconds);
      order += name;
    };
    asio::co_spawn(loop, sleeper('b', 2), asio::detached);
    asio::co_spawn(loop, sleeper('c', 2), asio::detached);
    asio::co_spawn(loop, sleeper('a', 1), asio::detached);
    time.run();
    EXPECT_EQ(order, "abc") << second_ms;
  }
}

TEST(async_futures, ctrl_c_ends_it) {
  const auto result = run("async_futures", {"--second-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2);
  EXPECT_TRUE(results(result).empty());
}

}  // namespace
