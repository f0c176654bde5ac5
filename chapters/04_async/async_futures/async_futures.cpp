// Async futures
//
// Two coroutines compute, sleep, and put their results into futures. A callback that was added to both futures
// beforehand prints each result when it is there. The coroutine that sleeps for a shorter time is printed first,
// whoever began first. At the end, a coroutine awaits a future that fails and one that is cancelled. std::future has no
// callbacks, since it is made for a thread that waits. So future.hpp has one for an event loop.
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

asio::awaitable<void> sum(LoopTime& time, double delay, long n, Future<std::string> future) {
  long total = 0;
  for (long i = 1; i <= n; ++i) total += i;
  co_await time.sleep(delay);
  future.set_result(fmt::format("first coroutine (sum of N integers) result = {}", total));
}

asio::awaitable<void> factorial(LoopTime& time, double delay, long n, Future<std::string> future) {
  long product = 1;
  for (long i = 2; i <= n; ++i) product *= i;
  co_await time.sleep(delay);
  future.set_result(fmt::format("second coroutine (factorial) result = {}", product));
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

  cookbook::Checks checks;
  for (const auto& [first_delay, second_delay] : {std::pair(3.0, 4.0), std::pair(4.0, 3.0)}) {
    asio::io_context loop(1);  // 1: only one thread runs it
    LoopTime time(loop, std::chrono::milliseconds(second_ms));
    Future<std::string> sum_future(loop), factorial_future(loop);

    std::string order;
    const auto print = [&](const Future<std::string>& future) {
      cookbook::println("{}", future.result());
      order += (order.empty() ? "" : ", ") + future.result().substr(0, future.result().find(' '));
    };
    sum_future.add_done_callback(print);
    factorial_future.add_done_callback(print);
    asio::co_spawn(loop, sum(time, first_delay, n, sum_future), asio::detached);
    asio::co_spawn(loop, factorial(time, second_delay, m, factorial_future), asio::detached);
    time.run();
    checks.equal(fmt::format("order with delays of {} s and {} s", first_delay, second_delay), order,
                 first_delay < second_delay ? "first, second" : "second, first");
    checks.equal("seconds until both are done", time.now(), 4.0);
  }

  asio::io_context loop(1);
  Future<int> failed(loop), dropped(loop);
  std::string heard;
  const auto wait_for_both = [&]() -> asio::awaitable<void> {
    for (const Future<int>& future : {failed, dropped}) {
      try {
        co_await future.wait();
      } catch (const std::exception& error) {
        heard += (heard.empty() ? "" : ", ") + std::string(error.what());
      }
    }
  };
  asio::co_spawn(loop, wait_for_both(), asio::detached);
  loop.poll();  // the coroutine begins, and waits
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no such file")));
  dropped.cancel();
  loop.run();
  checks.equal("a coroutine that waited has caught", heard, "no such file, the future was cancelled");
  return checks.exit_code();
}
