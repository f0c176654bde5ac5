// Async futures
//
// Two coroutines set the results of two futures, the second one first. If a coroutine awaits the futures in turn, it
// takes the second result late, since it still waits for the first one. A callback on each future takes each result as
// soon as it is there. Last, several wait for one result, for an error and for a cancellation. std::future has no
// callbacks, so future.hpp has one for an event loop.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/async_futures/async_futures.cpp common/cookbook/*.cpp -lfmt -pthread -o async_futures
// Run:     async_futures [--sum N] [--factorial N] [--second-ms N]

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <functional>
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
using Take = std::function<void(const std::string&)>;

asio::awaitable<void> take_in_turn(Text first, Text second, Take take) {
  take(co_await first.wait());
  take(co_await second.wait());  // it may have been there for a long time
}

void take_by_callbacks(Text first, Text second, const Take& take) {
  for (Text future : {first, second}) {
    future.add_done_callback([take](const Text& done) { take(done.result()); });
  }
}

/// Sets the result of a future after some seconds.
asio::awaitable<void> deliver(LoopTime& time, double delay, std::string result, Text future) {
  co_await time.sleep(delay);
  future.set_result(fmt::format("{}, set at {} s", result, time.now()));
}

/// What becomes of an exception that ends a coroutine: it leaves the loop's run(). (asio::detached would drop it.)
void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

struct Results {
  std::string sum, factorial;
  std::chrono::milliseconds second;
};

/// Delivers both results, with a delay each, while they are taken in one of the ways. Returns when each was taken.
std::vector<double> run_both(const Results& results, double first_delay, double second_delay, bool by_callbacks) {
  asio::io_context loop(1);  // 1: a promise that only one thread runs it
  LoopTime time(loop, results.second);
  Text first(loop), second(loop);
  std::vector<double> taken_at;
  const auto take = [&](const std::string& result) {
    taken_at.push_back(time.now());
    cookbook::println("   taken at {} s: {}", time.now(), result);
  };
  if (by_callbacks) {
    take_by_callbacks(first, second, take);
  } else {
    asio::co_spawn(loop, take_in_turn(first, second, take), rethrow);
  }
  asio::co_spawn(loop, deliver(time, first_delay, results.sum, first), rethrow);
  asio::co_spawn(loop, deliver(time, second_delay, results.factorial, second), rethrow);
  time.run();
  return taken_at;
}

/// One future for which three wait, one that fails and one that is cancelled. Returns what each has heard.
std::vector<std::string> several_wait(std::chrono::milliseconds second) {
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
    co_await time.sleep(1);  // meanwhile the others wait
    seven.set_result("seven");
    failed.set_exception(std::make_exception_ptr(std::runtime_error("no such file")));
    dropped.cancel();
    cookbook::println("   {} s: all three are set", time.now());
    co_await time.sleep(1);
    seven.add_done_callback([&](const Text& done) { hear("late callback", done.result()); });
    cookbook::println("   {} s: a late callback is added", time.now());
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
  options.add("sum", n, "the first result is the sum of the numbers from 1 to this", 0, 1'000'000);
  options.add("factorial", m, "the second is the factorial of this; 21! does not fit into 64 bits", 0, 20);
  options.add("second-ms", second_ms, "milliseconds that stand for a second; 0: a virtual clock", 0, 10'000);
  options.parse(argc, argv);

  long total = 0, product = 1;
  for (long i = 1; i <= n; ++i) total += i;
  for (long i = 2; i <= m; ++i) product *= i;
  const Results results = {fmt::format("the sum of 1 to {} is {}", n, total),
                           fmt::format("the factorial of {} is {}", m, product), std::chrono::milliseconds(second_ms)};

  cookbook::println("delays of 4 s and 3 s, awaited in turn");
  const std::vector<double> in_turn = run_both(results, 4, 3, false);
  cookbook::println("delays of 4 s and 3 s, a callback on each");
  const std::vector<double> by_callbacks = run_both(results, 4, 3, true);
  cookbook::println("one future for which three wait, one that fails, one that is cancelled");
  const std::vector<std::string> heard = several_wait(results.second);

  cookbook::Checks checks;
  checks.equal("seconds at which results were taken", std::vector{in_turn, by_callbacks}, {{4, 4}, {3, 4}});
  checks.that("each that waits has heard what was set",
              heard == std::vector<std::string>{"1 s: seven", "1 s: seven", "1 s: no such file",
                                                "1 s: the future was cancelled", "2 s: seven"});
  return checks.exit_code();
}
