// Async futures
//
// Two coroutines compute, sleep, and put their results into futures; a callback that was attached before takes each
// result when it is there. Who is done first is served first, whoever began first. The standard's future knows no
// callbacks, since it is made for a thread that waits; one for an event loop takes a page (future.hpp). The rest of the
// program shows what a future can become: a result, an exception, or cancelled; once, and for all who ask.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/async_futures/async_futures.cpp common/cookbook/*.cpp -lfmt -pthread -o async_futures
// Run:     async_futures [--sum N] [--factorial N] [--first-delay S] [--second-delay S] [--second-ms N]

#include <boost/asio.hpp>
#include <functional>
#include <future>
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
  future.set_result(fmt::format("first coroutine (sum of N integers) result = {}", total));
}

asio::awaitable<void> factorial(LoopTime& time, double delay, long n, Text future) {
  long product = 1;
  for (long i = 2; i <= n; ++i) product *= i;
  co_await time.sleep(delay);
  future.set_result(fmt::format("second coroutine (factorial) result = {}", product));
}

struct Setting {
  long sum = 10, factorial = 10;
  double first_delay = 3, second_delay = 4;
};

struct Delivered {
  std::vector<std::string> results;  ///< in the order in which they came
  double seconds;                    ///< until the last, on the virtual clock
};

/// Lets both coroutines fulfil their futures; one callback takes what they deliver, and prints it if `aloud`.
Delivered deliver(const Setting& setting, std::chrono::milliseconds second, bool aloud) {
  asio::io_context loop(1);
  LoopTime time(loop, second);
  Text sum_future(loop), factorial_future(loop);
  Delivered delivered = {};
  const auto take = Text::callback([&](Text future) {
    if (aloud) cookbook::println("{}", future.result());
    delivered.results.push_back(future.result());
  });
  sum_future.add_done_callback(take);
  factorial_future.add_done_callback(take);
  asio::co_spawn(loop, sum(time, setting.first_delay, setting.sum, sum_future), asio::detached);
  asio::co_spawn(loop, factorial(time, setting.second_delay, setting.factorial, factorial_future), asio::detached);
  time.run();
  delivered.seconds = time.now();
  return delivered;
}

/// What the two must deliver: computed at once, sorted by the delays.
std::vector<std::string> without_futures(const Setting& setting) {
  long product = 1;
  for (long i = setting.factorial; i > 1; --i) product *= i;
  std::vector<std::string> results = {
      fmt::format("first coroutine (sum of N integers) result = {}", setting.sum * (setting.sum + 1) / 2),
      fmt::format("second coroutine (factorial) result = {}", product)};
  if (setting.first_delay > setting.second_delay) std::swap(results[0], results[1]);
  return results;
}

/// What `action` throws, in words.
std::string thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

/// What came of a future: its result, or its exception in words.
std::string outcome(const Text& future) {
  std::string text;
  const std::string error = thrown_by([&] { text = future.result(); });
  return text.empty() ? error : text;
}

void try_states(cookbook::Checks& checks) {
  asio::io_context loop(1);
  const auto let_run = [&] { loop.restart(), loop.poll(); };
  const std::exception_ptr trouble = std::make_exception_ptr(std::runtime_error("no such file"));
  std::vector<std::string> heard;
  const auto hear = Text::callback([&](Text future) { heard.push_back(outcome(future)); });

  Text value(loop);
  checks.equal("reading before it is done", thrown_by([&] { value.result(); }), "the future has no result yet");
  value.add_done_callback(hear);
  value.set_result("seven");
  checks.equal("callbacks called by set_result itself", heard.size(), 0U);
  let_run();
  let_run();
  checks.equal("called by the loop", heard, {"seven"});
  checks.equal("setting a result twice", thrown_by([&] { value.set_result("8"); }), "the future is done already");
  checks.equal("setting an exception then", thrown_by([&] { value.set_exception(trouble); }),
               "the future is done already");
  checks.equal("cancelling it then", value.cancel(), false);
  value.add_done_callback(hear);
  let_run();
  checks.equal("a callback that is added late hears it too", heard, {"seven", "seven"});

  heard.clear();
  Text failed(loop), dropped(loop), unheard(loop);
  failed.add_done_callback(hear);
  failed.set_exception(trouble);
  dropped.add_done_callback(hear);
  checks.equal("cancelling a pending one", dropped.cancel(), true);
  unheard.add_done_callback(hear);
  unheard.add_done_callback(hear);
  checks.equal("callbacks removed", unheard.remove_done_callback(hear), 2U);
  unheard.set_result("nobody hears it");
  let_run();
  checks.equal("heard of an exception, a cancellation, nothing", heard, {"no such file", "the future was cancelled"});
  checks.equal("setting the result of a cancelled one", thrown_by([&] { dropped.set_result("9"); }),
               "the future is done already");
}

/// A coroutine that awaits a future goes on with its result or with its exception. So does a thread, by std::future.
void try_awaiting(cookbook::Checks& checks) {
  asio::io_context loop(1);
  Text value(loop), failed(loop), dropped(loop);
  std::future<std::string> got = asio::co_spawn(loop, value.wait(), asio::use_future);
  std::future<std::string> error = asio::co_spawn(loop, failed.wait(), asio::use_future);
  std::future<std::string> cancelled = asio::co_spawn(loop, dropped.wait(), asio::use_future);
  loop.poll();
  const bool all_wait = got.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  value.set_result("seven");
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no such file")));
  dropped.cancel();
  loop.run();
  checks.equal("a coroutine waits for the future", all_wait, true);
  checks.equal("and goes on with the result", got.get(), "seven");
  checks.equal("or with the exception", thrown_by([&] { error.get(); }), "no such file");
  checks.equal("or with the cancellation", thrown_by([&] { cancelled.get(); }), "the future was cancelled");
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  int second_ms = 20;
  cookbook::Options options("Results that futures deliver to callbacks");
  options.add("sum", setting.sum, "the first coroutine adds 1 to this", 0, 1'000'000);
  options.add("factorial", setting.factorial, "the second computes the factorial of this", 0, 20);
  options.add("first-delay", setting.first_delay, "seconds that the first sleeps", 0, 1000);
  options.add("second-delay", setting.second_delay, "seconds that the second sleeps", 0, 1000);
  options.add("second-ms", second_ms, "milliseconds that stand for a second; 0: a virtual clock", 0, 10'000);
  options.parse(argc, argv);

  Setting exchanged = setting, equal = setting;
  std::swap(exchanged.first_delay, exchanged.second_delay);
  equal.second_delay = equal.first_delay;
  const std::chrono::milliseconds second(second_ms), at_once(0);
  cookbook::println("sleeping {} s and {} s", setting.first_delay, setting.second_delay);
  const Delivered one_order = deliver(setting, second, true);
  cookbook::println("sleeping {} s and {} s", exchanged.first_delay, exchanged.second_delay);
  const Delivered other_order = deliver(exchanged, second, true);

  cookbook::Checks checks;
  checks.that("they come by the delays", one_order.results == without_futures(setting));
  checks.that("and by the exchanged delays", other_order.results == without_futures(exchanged));
  checks.that("at equal delays, by the beginning", deliver(equal, at_once, false).results == without_futures(equal));
  checks.equal("seconds until the last", deliver(setting, at_once, false).seconds,
               std::max(setting.first_delay, setting.second_delay));
  try_states(checks);
  try_awaiting(checks);
  return checks.exit_code();
}
