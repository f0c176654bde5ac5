// Tests a Future whose callbacks a learner has written.

#include "future.hpp"

#include <boost/asio.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

using judge::expect;

namespace {

using Numbers = Future<int>;

void expect_times(int times, int expected, const std::string& what) {
  expect(times >= expected, what + " is called less than once.");
  expect(times <= expected, what + " is called more than once.");
}

void callbacks_before_the_result() {
  boost::asio::io_context loop;
  std::string called;
  int times = 0;
  Numbers future(loop);
  for (const char letter : {'a', 'b', 'c'}) {
    future.add_done_callback([&, letter](const Numbers& done) {
      called += letter;
      ++times;
      expect(done.done() && done.result() == 7, "A callback does not get the future with its result.");
    });
  }
  loop.run();
  loop.restart();
  expect(called.empty(), "A callback is called before the future is done.");
  future.set_result(7);
  expect(future.done() && future.result() == 7, "set_result() does not set the result.");
  expect(called.empty(), "A callback is called inside of set_result().");
  loop.run();
  expect_times(times, 3, "One of three callbacks");
  expect(called == "abc", "The callbacks are not called in the order in which they were added.");
}

void callbacks_behind_the_result() {
  boost::asio::io_context loop;
  int times = 0;
  Numbers future(loop);
  future.set_result(1);
  loop.run();
  loop.restart();
  for (int i = 1; i <= 3; ++i) {
    future.add_done_callback([&](const Numbers&) { ++times; });
    expect(times == i - 1, "A callback is called inside of add_done_callback().");
    loop.poll();  // what is due now, and nothing that comes later
    loop.restart();
    expect(times >= i, "The future is done already, and its callback is not called soon, but later or never.");
    expect(times <= i, "A callback is called more than once.");
  }
  future.add_done_callback([&](const Numbers& done) {
    done.result();
    Numbers(done).add_done_callback([&](const Numbers&) { times += 10; });
    expect(times == 3, "A callback is called inside of add_done_callback().");
  });
  loop.run();
  expect(times == 13, "A callback that another one has added is not called once.");
}

void exceptions() {
  boost::asio::io_context loop;
  int times = 0;
  Numbers failed(loop), cancelled(loop);
  for (Numbers* future : {&failed, &cancelled}) {
    future->add_done_callback([&](const Numbers& done) {
      try {
        done.result();
      } catch (const std::runtime_error&) {
        ++times;
      }
    });
  }
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no number")));
  expect(cancelled.cancel() && !cancelled.cancel(), "cancel() does not cancel once.");
  expect(times == 0, "A callback is called inside of set_exception().");
  loop.run();
  expect(times == 2, "A future has got an exception, and its callback is not called once.");
}

void a_second_result() {
  boost::asio::io_context loop;
  int times = 0, thrown = 0;
  Numbers future(loop), failed(loop), cancelled(loop);
  future.add_done_callback([&](const Numbers&) { ++times; });
  future.set_result(1);
  failed.set_exception(std::make_exception_ptr(std::runtime_error("no number")));
  cancelled.cancel();
  for (Numbers* one : {&future, &failed, &cancelled}) {
    try {
      one->set_result(2);
    } catch (const InvalidState&) {
      ++thrown;
    }
  }
  expect(thrown == 3, "A second result does not throw InvalidState, or one behind an exception or a cancellation.");
  expect(future.result() == 1, "A second result has taken the place of the first.");
  loop.run();
  expect_times(times, 1, "A callback");
}

/// When the loop runs, nobody has the future any more, and in its place there is another one, which is not done.
void the_future_is_gone() {
  boost::asio::io_context loop;
  int result = 0;
  std::optional<Numbers> future(loop);
  future->add_done_callback([&](const Numbers& done) {
    expect(done.done(), "A callback gets another future than its own, which nobody else has any more.");
    result += done.result();
  });
  future->set_result(5);
  future.emplace(loop);
  loop.run();
  expect(result == 5, "A callback does not get the future with its result when nobody else has it any more.");
}

/// What sets the result is itself called by the loop.
void within_the_loop() {
  boost::asio::io_context loop;
  int times = 0, errors = 0;
  Numbers future(loop), failed(loop), cancelled(loop);
  for (Numbers* one : {&failed, &cancelled}) one->add_done_callback([&](const Numbers&) { ++errors; });
  future.add_done_callback([&](const Numbers&) { ++times; });
  boost::asio::post(loop, [&] {
    future.set_result(1);
    expect(times == 0, "A callback is called inside of set_result() when the loop has called this one's caller.");
    future.add_done_callback([&](const Numbers&) { ++times; });
    expect(times == 0, "A callback is called inside of add_done_callback().");
    failed.set_exception(std::make_exception_ptr(std::runtime_error("no number")));
    expect(errors == 0, "A callback is called inside of set_exception() when the loop has called this one's caller.");
    cancelled.cancel();
    expect(errors == 0, "A callback is called inside of cancel() when the loop has called this one's caller.");
  });
  loop.run();
  expect_times(times, 2, "One of two callbacks");
  expect_times(errors, 2, "One of two callbacks, of an exception and a cancellation,");
}

void values_are_moved() {
  boost::asio::io_context loop;
  Future<std::unique_ptr<int>> future(loop);
  future.set_result(std::make_unique<int>(4));
  expect(*future.result() == 4, "set_result() does not set the result.");
}

}  // namespace

int main() {
  callbacks_before_the_result();
  callbacks_behind_the_result();
  exceptions();
  a_second_result();
  the_future_is_gone();
  within_the_loop();
  values_are_moved();
  std::puts("every callback came once");
}
