// Communicating sequential processes, measured
//
// What it costs to hand over one value between two sequential programs of one thread.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/05_distributed/csp_channels/csp_channels_bench.cpp common/cookbook/*.cpp -lfmt -lboost_fiber -lboost_context -pthread -o csp_channels_bench
// Run:     csp_channels_bench [--values N] [--rounds N]

#include <boost/asio.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/fiber/all.hpp>
#include <coroutine>
#include <string>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "process.hpp"

namespace {

/// A coroutine that is resumed by hand: the least that a change from one sequential program to another can cost.
struct Resumable {
  struct promise_type {
    Resumable get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

/// One coroutine gives the values, the other takes them; both are resumed once for each value.
long by_two_resumes(int values) {
  int cell = 0;
  long sum = 0;
  const auto give = [](int& out, int count) -> Resumable {
    for (out = 0; out < count; ++out) co_await std::suspend_always();
  };
  const auto take = [](const int& in, long& total) -> Resumable {
    for (;;) {
      total += in;
      co_await std::suspend_always();
    }
  };
  const Resumable giver = give(cell, values), taker = take(cell, sum);
  for (int i = 0; i < values; ++i) {
    giver.handle.resume();
    taker.handle.resume();
  }
  giver.handle.destroy();
  taker.handle.destroy();
  return sum;
}

long by_our_channel(int values) {
  long sum = 0;
  Channel<int> channel;
  const auto count = [values](Channel<int>::Writer& out) {
    for (int i = 0; i < values; ++i) out(i);
  };
  const auto add = [&sum](Channel<int>::Reader& in) {
    for (;;) sum += in();
  };
  parallel(process(count, channel.writer()), process(add, channel.reader()));
  return sum;
}

/// Boost.Fiber's own channels: unbuffered, or with a buffer.
template <typename BoostChannel>
long by_boost(BoostChannel&& channel, int values) {
  long sum = 0;
  boost::fibers::fiber counter([&] {
    for (int i = 0; i < values; ++i) channel.push(i);
    channel.close();
  });
  boost::fibers::fiber adder([&] {
    for (const int value : channel) sum += value;
  });
  counter.join();
  adder.join();
  return sum;
}

long by_asio(int values) {
  namespace asio = boost::asio;
  asio::io_context loop(1);
  asio::experimental::channel<void(boost::system::error_code, int)> channel(loop, 0);
  long sum = 0;
  const auto count = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < values; ++i) co_await channel.async_send({}, i, asio::use_awaitable);
  };
  const auto add = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < values; ++i) sum += co_await channel.async_receive(asio::use_awaitable);
  };
  asio::co_spawn(loop, count, asio::detached);
  asio::co_spawn(loop, add, asio::detached);
  loop.run();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int values = 1'000'000, rounds = 9;
  cookbook::Options options("Measure the cost of a value through a channel");
  options.add("values", values, "values per round", 1'000, 100'000'000);
  options.add("rounds", rounds, "times that each row is measured", 1, 1000);
  options.parse(argc, argv);
  cookbook::pin(0);

  const long expected = static_cast<long>(values) * (values - 1) / 2;
  bool right = true;
  const auto row = [&](const std::string& name, auto sum_by) {
    return cookbook::Benchmark(name, values, [=, &right] { right = right && sum_by(values) == expected; });
  };
  cookbook::Figures figures("One value", cookbook::cost("ns", 1e-9));
  figures.percent_of("two resumes of coroutines", "two resumes");
  figures.speedup_over("Boost.Fiber, unbuffered", "unbuffered");
  figures.measure({row("two resumes of coroutines", by_two_resumes), row("this channel", by_our_channel),
                   row("Boost.Fiber, unbuffered",
                       [](int count) { return by_boost(boost::fibers::unbuffered_channel<int>(), count); }),
                   row("Boost.Fiber, buffer of 63",
                       [](int count) { return by_boost(boost::fibers::buffered_channel<int>(64), count); }),
                   row("Asio, no buffer", by_asio)},
                  rounds);
  cookbook::Checks checks;
  checks.that("all sums of the values are right", right);
  figures.print(checks);
  return checks.exit_code();
}
