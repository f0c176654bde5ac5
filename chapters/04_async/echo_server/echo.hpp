/// An echo server of coroutines: it sends every client back what the client has sent.
#pragma once

#include <array>
#include <boost/asio.hpp>

namespace asio = boost::asio;
using asio::ip::tcp;

/// Serves one client. When the client ends the connection, the read throws; that ends the coroutine, and the destructor
/// of its socket closes the connection.
inline asio::awaitable<void> echo(tcp::socket socket) {
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t count = co_await socket.async_read_some(asio::buffer(buffer), asio::deferred);
    co_await asio::async_write(socket, asio::buffer(buffer, count), asio::deferred);
  }
}

/// Accepts clients until the acceptor is closed, and starts a coroutine for each of them.
inline asio::awaitable<void> serve(tcp::acceptor& acceptor) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::deferred);
    socket.set_option(tcp::no_delay(true));  // send small messages at once
    asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), asio::detached);
  }
}
