/// A deadline for an operation of Asio that is written as a coroutine.
#pragma once

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <optional>
#include <utility>

namespace asio = boost::asio;
using Duration = std::chrono::steady_clock::duration;

inline asio::awaitable<void> pause(Duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

/// What `work` gives, or nothing if `limit` is over first; then the work has been cancelled, and has ended. If it
/// fails, there is nothing either, when the limit is over.
template <typename Result>
asio::awaitable<std::optional<Result>> within(Duration limit, asio::awaitable<Result> work) {
  using namespace asio::experimental::awaitable_operators;
  auto first = co_await (std::move(work) || pause(limit));  // the one that succeeds first; the other is cancelled
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return std::nullopt;
}
