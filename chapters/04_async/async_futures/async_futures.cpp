// Async futures
//
// Two coroutines compute, sleep, and set the results of two futures. First a coroutine asks for the two results in the
// order in which the futures were made: a result that is there already has to wait for the other one. Then a callback
// on each future takes its result as soon as it is there. Last, several takers wait for one result, for an error and
// for a cancellation. std::future has no callbacks, so future.hpp has one for an event loop.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/async_futures/async_futures.cpp common/cookbook/*.cpp -lfmt -pthread -o async_futures
// Run:     async_futures [--sum N] [--factorial N] [--second-ms N]

#include <boost/asio.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "future.hpp"
#include "loop_time.hpp"

namespace asio = boost::asio;

namespace {

using Text = Future<std::string>;

asio::awaitable<void> sum(LoopTime& time, double delay, long n, Text future) {
  long total = 0;
  for (long i = 1; i <= n; ++i) total += i;
  co_await time.sleep(delay);
  future.set_result(fmt::format("the sum of 1 to {} is {}, set at {} s", n, total, time.now()));
}

asio::awaitable<void> factorial(LoopTime& time, double delay, long n, Text future) {
  long product = 1;
  for (long i = 2; i <= n; ++i) product *= i;
  co_await time.sleep(delay);
  future.set_result(fmt::format("the factorial of {} is {}, set at {} s", n, product, time.now()));
}

/// What becomes of an exception that ends a coroutine: it leaves the loop's run(). (asio::detached would drop it.)
void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

struct Numbers {
  long sum_to, factorial_of;
  std::chrono::milliseconds second;
};

/// Lets both coroutines run, with a delay each. Returns when each result was taken, in seconds.
std::vector<double> run_both(const Numbers& numbers, double first_delay, double second_delay, bool by_callbacks) {
  asio::io_context loop(1);  // 1: only one thread runs it
  LoopTime time(loop, numbers.second);
  Text first(loop), second(loop);
  std::vector<double> taken_at;
  const auto take = [&](const std::string& result) {
    taken_at.push_back(time.now());
    cookbook::println("   taken at {} s: {}", time.now(), result);
  };
  const auto ask_in_order = [&]() -> asio::awaitable<void> {
    take(co_await first.wait());
    take(co_await second.wait());  // it may have been there for a long time
  };
  if (by_callbacks) {
    for (Text* future : {&first, &second}) {
      future->add_done_callback([&](const Text& done) { take(done.result()); });
    }
  } else {
    asio::co_spawn(loop, ask_in_order(), rethrow);
  }
  asio::co_spawn(loop, sum(time, first_delay, numbers.sum_to, first), rethrow);
  asio::co_spawn(loop, factorial(time, second_delay, numbers.factorial_of, second), rethrow);
  time.run();
  return taken_at;
}

/// One future for three takers, one that fails and one that is cancelled. Returns what each taker has heard.
std::vector<std::string> several_takers(std::chrono::milliseconds second) {
  asio::io_context loop(1);
  LoopTime time(loop, second);
  Text seven(loop), failed(loop), dropped(loop);
  std::vector<std::string> heard;
  const auto hear = [&](const std::string& who, const std::string& what) {
    heard.push_back(fmt::format("{} s: {}", time.now(), what));
    cookbook::println("   {} s: a {} hears: {}", time.now(), who, what);
  };
  const auto wait = [&](Text future) -> asio::awaitable<void> {
    try {
      hear("coroutine", co_await future.wait());
    } catch (const std::exception& error) {
      hear("coroutine", error.what());
    }
  };
  const auto set_all = [&]() -> asio::awaitable<void> {
    co_await time.sleep(1);  // meanwhile the takers wait
    seven.set_result("seven");
    failed.set_exception(std::make_exception_ptr(std::runtime_error("no such file")));
    dropped.cancel();
    cookbook::println("   {} s: all three are set", time.now());
    co_await time.sleep(1);
    seven.add_done_callback([&](const Text& done) { hear("late callback", done.result()); });
  };
  seven.add_done_callback([&](const Text& done) { hear("callback", done.result()); });
  for (const Text& future : {seven, failed, dropped}) asio::co_spawn(loop, wait(future), rethrow);
  asio::co_spawn(loop, set_all(), rethrow);
  time.run();
  return heard;
}

}  // namespace

int main(int argc, char** argv) {
  long n = 10, m = 10;
  int second_ms = 20;
  cookbook::Options options("Deliver results through futures with callbacks");
  options.add("sum", n, "the first coroutine adds the numbers from 1 to this", 0, 1'000'000);
  options.add("factorial", m, "the second computes the factorial of this; 21! does not fit into 64 bits", 0, 20);
  options.add("second-ms", second_ms, "milliseconds that stand for a second; 0: a virtual clock", 0, 10'000);
  options.parse(argc, argv);
  const Numbers numbers = {n, m, std::chrono::milliseconds(second_ms)};

  cookbook::println("delays of 4 s and 3 s, asked for in the order of creation");
  const std::vector<double> in_order = run_both(numbers, 4, 3, false);
  cookbook::println("delays of 4 s and 3 s, a callback on each");
  const std::vector<double> on_completion = run_both(numbers, 4, 3, true);
  cookbook::println("one future for three takers, one that fails, one that is cancelled");
  const std::vector<std::string> heard = several_takers(numbers.second);

  cookbook::Checks checks;
  checks.equal("seconds at which results were taken", std::vector{in_order, on_completion}, {{4, 4}, {3, 4}});
  checks.that("each taker has heard what was set",
              heard == std::vector<std::string>{"1 s: seven", "1 s: seven", "1 s: no such file",
                                                "1 s: the future was cancelled", "2 s: seven"});
  return checks.exit_code();
}
