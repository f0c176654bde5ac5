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

/// What was taken, with the time: a block of two lines for each of the two ways.
std::vector<std::string> results(const test_support::Result& result) {
  return result.captures("^ *taken at (\\d s: .*)$");
}

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
      const std::string first = "the sum of 1 to " + c.sum + " is " + c.total + ", set at 4 s";
      const std::string second = "the factorial of " + c.factorial + " is " + c.product + ", set at 3 s";
      EXPECT_EQ(results(result), (std::vector<std::string>{"4 s: " + first, "4 s: " + second,  // asked in order
                                                           "3 s: " + second, "4 s: " + first}))
          << result.text();
    }
  }
}

TEST(async_futures, whoever_waits_hears_after_the_setter_has_gone_on_and_a_late_callback_soon) {
  for (const std::string second_ms : {"0", "1"}) {
    const auto result = run("async_futures", {"--second-ms", second_ms});
    EXPECT_EQ(result.captures("^   (\\d s: (?:a|all) .*)$"),
              (std::vector<std::string>{"1 s: all three are set", "1 s: a callback hears: seven",
                                        "1 s: a coroutine hears: seven", "1 s: a coroutine hears: no such file",
                                        "1 s: a coroutine hears: the future was cancelled",
                                        "2 s: a late callback is added", "2 s: a late callback hears: seven"}))
        << result.text();
  }
}

TEST(async_futures, a_factorial_beyond_64_bits_is_refused) {
  const auto result = run("async_futures", {"--factorial", "21"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err.size(), 1U);
  EXPECT_TRUE(result.out.empty());
}

namespace asio = boost::asio;

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

TEST(async_futures_future, is_delivered_in_the_order_of_fulfilment_and_else_of_the_beginning) {
  const auto order = [](double first_delay, double second_delay) {
    asio::io_context loop(1);
    LoopTime time(loop, std::chrono::milliseconds(0));
    Future<char> one(loop), other(loop);
    std::string text;
    for (Future<char>* future : {&one, &other}) {
      future->add_done_callback([&](const Future<char>& done) { text += done.result(); });
    }
    const auto fulfil = [&](double delay, Future<char> future, char name) -> asio::awaitable<void> {
      co_await time.sleep(delay);
      future.set_result(name);
    };
    asio::co_spawn(loop, fulfil(first_delay, one, '1'), asio::detached);
    asio::co_spawn(loop, fulfil(second_delay, other, '2'), asio::detached);
    time.run();
    EXPECT_EQ(time.now(), std::max(first_delay, second_delay));
    return text;
  };
  EXPECT_EQ(order(3, 4), "12");
  EXPECT_EQ(order(4, 3), "21");
  EXPECT_EQ(order(0.5, 0.25), "21");
  EXPECT_EQ(order(2, 2), "12");
  EXPECT_EQ(order(0, 0), "12");
}

TEST(async_futures_future, calls_each_callback_once_and_through_the_loop) {
  asio::io_context loop(1);
  Future<int> future(loop);
  std::vector<int> heard;
  const auto hear = [&](const Future<int>& done) { heard.push_back(done.result()); };
  future.add_done_callback(hear);
  future.set_result(7);
  EXPECT_TRUE(heard.empty());  // set_result calls nobody
  loop.poll();
  loop.restart();
  loop.poll();
  EXPECT_EQ(heard, std::vector{7});
  future.add_done_callback(hear);  // late
  EXPECT_EQ(heard.size(), 1U);
  loop.restart();
  loop.poll();
  EXPECT_EQ(heard, (std::vector{7, 7}));
}

TEST(async_futures_future, becomes_one_thing_once) {
  asio::io_context loop(1);
  const auto trouble = std::make_exception_ptr(std::runtime_error("no such file"));
  Future<std::string> value(loop), failed(loop), dropped(loop);
  EXPECT_THROW(value.result(), InvalidState);
  value.set_result("seven");
  failed.set_exception(trouble);
  EXPECT_TRUE(dropped.cancel());
  for (Future<std::string>* future : {&value, &failed, &dropped}) {
    EXPECT_TRUE(future->done());
    EXPECT_THROW(future->set_result("8"), InvalidState);
    EXPECT_THROW(future->set_exception(trouble), InvalidState);
    EXPECT_FALSE(future->cancel());
  }
  EXPECT_EQ(value.result(), "seven");
  EXPECT_THROW(failed.result(), std::runtime_error);
  EXPECT_THROW(dropped.result(), Cancelled);
}

TEST(async_futures_future, without_an_exception_set_exception_sets_nothing) {
  asio::io_context loop(1);
  Future<int> future(loop);
  int heard = 0;
  future.add_done_callback([&](const Future<int>&) { ++heard; });
  EXPECT_THROW(future.set_exception(nullptr), std::invalid_argument);
  loop.poll();
  loop.restart();
  EXPECT_FALSE(future.done());
  EXPECT_EQ(heard, 0);
  future.set_result(7);
  loop.poll();
  EXPECT_EQ(heard, 1);
}

TEST(async_futures_future, a_wait_that_is_cancelled_leaves_the_future_to_the_others) {
  asio::io_context loop(1);
  Future<std::string> future(loop);
  std::future<std::string> got = asio::co_spawn(loop, future.wait(), asio::use_future);
  EXPECT_EQ(end_of_cancelled(loop, future.wait()), "aborted");
  future.set_result("seven");
  loop.restart();
  loop.poll();
  ASSERT_EQ(got.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(got.get(), "seven");
}

TEST(async_futures_future, a_logic_error_that_was_set_is_no_invalid_state) {
  asio::io_context loop(1);
  Future<int> failed(loop);
  failed.set_exception(std::make_exception_ptr(std::out_of_range("no such element")));
  const auto is_not_done = [&] {
    try {
      failed.result();
    } catch (const InvalidState&) {
      return true;
    }
    return false;
  };
  EXPECT_THROW(is_not_done(), std::out_of_range);
}

TEST(async_futures_future, a_coroutine_that_waits_goes_on_with_the_result_or_the_exception) {
  asio::io_context loop(1);
  Future<std::string> value(loop), failed(loop), dropped(loop);
  std::future<std::string> got = asio::co_spawn(loop, value.wait(), asio::use_future);
  std::future<std::string> error = asio::co_spawn(loop, failed.wait(), asio::use_future);
  std::future<std::string> cancelled = asio::co_spawn(loop, dropped.wait(), asio::use_future);
  loop.poll();
  EXPECT_EQ(got.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  value.set_result("seven");
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no such file")));
  dropped.cancel();
  loop.restart();
  loop.run();
  EXPECT_EQ(got.get(), "seven");
  EXPECT_THROW(error.get(), std::runtime_error);
  EXPECT_THROW(cancelled.get(), Cancelled);
}

TEST(async_futures_future, a_coroutine_may_wait_for_one_whose_object_is_gone) {
  asio::io_context loop(1);
  auto mine = std::make_optional<Future<std::string>>(loop);
  Future<std::string> copy = *mine;
  std::future<std::string> got = asio::co_spawn(loop, mine->wait(), asio::use_future);
  mine.reset();        // before the coroutine has begun
  mine.emplace(loop);  // another future, where the first one was
  copy.set_result("seven");
  loop.poll();
  ASSERT_EQ(got.wait_for(std::chrono::seconds(0)), std::future_status::ready) << "it waits for the other one";
  EXPECT_EQ(got.get(), "seven");
}

TEST(async_futures_future, a_coroutine_that_waits_for_one_that_is_done_goes_on_at_once) {
  asio::io_context loop(1);
  Future<std::string> done(loop);
  done.set_result("seven");
  std::string order;
  const auto wait = [&]() -> asio::awaitable<void> {
    asio::post(loop, [&] { order += "others "; });
    order += co_await done.wait() + ' ';
  };
  asio::co_spawn(loop, wait(), asio::detached);
  loop.run();
  EXPECT_EQ(order, "seven others ");
}

TEST(async_futures_future, a_wait_that_is_cancelled_says_so) {
  asio::io_context loop(1);
  Future<std::string> never(loop);
  EXPECT_EQ(end_of_cancelled(loop, never.wait()), "aborted");
  EXPECT_FALSE(never.done());
}

TEST(async_futures_loop_time, a_virtual_sleep_that_is_cancelled_says_so_and_is_forgotten) {
  asio::io_context loop(1);
  LoopTime time(loop, std::chrono::milliseconds(0));
  EXPECT_EQ(end_of_cancelled(loop, time.sleep(5)), "aborted");
  asio::co_spawn(loop, time.sleep(2), asio::detached);
  loop.restart();
  time.run();
  EXPECT_EQ(time.now(), 2);  // not 5
}

TEST(async_futures_loop_time, who_fell_asleep_first_wakes_first) {
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
