/// An echo server of coroutines: it sends every client back what the client has sent.
#pragma once

#include <array>
#include <boost/asio.hpp>
#include <exception>

namespace asio = boost::asio;
using asio::ip::tcp;

/// With this, co_await gives a pair of error and result, and throws nothing.
inline constexpr auto with_error = asio::as_tuple(asio::deferred);

/// What becomes of an exception that ends a coroutine: it leaves the loop's run(). (asio::detached would drop it, and
/// whoever waits for this coroutine would wait for ever.)
inline void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

/// Serves one client until it ends the connection or breaks it. The destructor of `socket` closes the server's side.
inline asio::awaitable<void> echo(tcp::socket socket) {
  std::array<char, 4096> buffer;
  for (;;) {
    const auto [ended, count] = co_await socket.async_read_some(asio::buffer(buffer), with_error);
    if (ended) co_return;
    const auto [broken, sent] = co_await asio::async_write(socket, asio::buffer(buffer, count), with_error);
    if (broken) co_return;
  }
}

/// Accepts clients until the acceptor is closed, and starts a coroutine for each of them. Throws if the system refuses
/// one, such as when no file descriptor is left.
inline asio::awaitable<void> serve(tcp::acceptor& acceptor) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(with_error);
    if (error == asio::error::operation_aborted) co_return;  // closed
    if (error) throw boost::system::system_error(error);
    socket.set_option(tcp::no_delay(true));  // send small messages at once
    asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), rethrow);
  }
}
