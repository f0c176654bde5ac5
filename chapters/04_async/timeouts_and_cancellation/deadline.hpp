/// A deadline for an operation of Asio that is written as a coroutine.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace asio = boost::asio;
using Duration = std::chrono::steady_clock::duration;

inline asio::awaitable<void> pause(Duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

/// How an operation has ended: one of the two is there.
template <typename Result>
struct Outcome {
  std::optional<Result> result;
  std::exception_ptr error;
};

template <typename Result>
asio::awaitable<Outcome<Result>> outcome_of(asio::awaitable<Result> work) {
  Outcome<Result> outcome;
  try {
    outcome.result = co_await std::move(work);
  } catch (...) {
    outcome.error = std::current_exception();
  }
  co_return outcome;
}

/// What `work` gives, or nothing if `limit` is over first; then the work has been cancelled, and has ended. (If it has
/// succeeded in spite of that, its result is dropped.) Throws what `work` throws, as soon as it does.
template <typename Result>
asio::awaitable<std::optional<Result>> within(Duration limit, asio::awaitable<Result> work) {
  using namespace asio::experimental::awaitable_operators;
  auto first = co_await (outcome_of(std::move(work)) || pause(limit));  // cancels the slower one, and awaits its end
  if (first.index() == 1) co_return std::nullopt;
  Outcome<Result> outcome = std::get<0>(std::move(first));
  if (outcome.error) std::rethrow_exception(outcome.error);
  co_return std::move(outcome.result);
}
