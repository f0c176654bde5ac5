// Pitfall: std::future::get() in the thread of the loop
//
// A coroutine of the loop sets the result of a promise after 10 ms, and another one waits for it by std::future::get().
// That call stops the thread, which is the one that runs the loop. So nobody looks at the timer, and the result is
// never set.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/async_futures/async_futures_blocking.cpp common/cookbook/*.cpp -lfmt -pthread -o async_futures_blocking
// Run:     async_futures_blocking, then Ctrl-C
// Symptom: hangs

#include <boost/asio.hpp>
#include <chrono>
#include <future>

#include "cookbook/print.hpp"

namespace asio = boost::asio;

namespace {

asio::awaitable<void> keep(std::promise<int> promise) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(10));
  co_await timer.async_wait(asio::use_awaitable);
  promise.set_value(7);
}

asio::awaitable<void> use(std::future<int> future) {
  cookbook::println("waiting for the result");
  cookbook::println("the result is {}", future.get());  // wrong: stops the thread of the loop
  co_return;
}

}  // namespace

int main() {
  asio::io_context loop(1);
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  asio::co_spawn(loop, keep(std::move(promise)), asio::detached);
  asio::co_spawn(loop, use(std::move(future)), asio::detached);
  loop.run();
  return 0;
}
