/// An echo server for clients that nobody knows: what they can make it spend has limits.
#pragma once

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <list>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// With this, co_await gives a pair of error and result. Nothing is thrown.
inline constexpr auto with_error = asio::as_tuple(asio::deferred);

/// Serves while its loop runs.
class RobustServer {
 public:
  /// Listens on a free port of 127.0.0.1. Closes at once clients beyond `max_clients`, and others that have sent
  /// nothing and taken no whole answer for `timeout` (up to a quarter later, or more on a busy machine).
  RobustServer(asio::io_context& loop, std::chrono::milliseconds timeout, std::size_t max_clients)
      : loop_(loop), timeout_(timeout), max_clients_(max_clients) {
    // Without these, the system lets the buffers of each connection grow to megabytes. Accepted sockets inherit them.
    acceptor_.set_option(tcp::socket::receive_buffer_size(1 << 16));
    acceptor_.set_option(tcp::socket::send_buffer_size(1 << 16));
    asio::co_spawn(loop, accept(), asio::detached);
    asio::co_spawn(loop, close_idle_clients(), asio::detached);
  }

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  int timed_out = 0;  ///< clients closed, because they made no progress

 private:
  struct Client {
    tcp::socket socket;
    int idle_quarters = 0;  // how often the timer has fired since it last made progress
  };

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(with_error);
      if (error) {  // such as no file descriptor left: to try again at once would be a busy loop
        co_await asio::steady_timer(loop_, std::chrono::milliseconds(10)).async_wait(with_error);
      } else if (clients_.size() < max_clients_) {
        socket.set_option(tcp::no_delay(true), error);  // send small messages at once
        clients_.push_front({std::move(socket)});
        asio::co_spawn(loop_, echo(clients_.begin()), asio::detached);
      }  // else the destructor of `socket` closes the connection
    }
  }

  asio::awaitable<void> echo(std::list<Client>::iterator client) {
    std::array<char, 4096> buffer;  // all the memory that a client can use up here
    for (;;) {
      const auto [ended, count] = co_await client->socket.async_read_some(asio::buffer(buffer), with_error);
      if (ended) break;
      client->idle_quarters = 0;
      // Nothing more is read until this is sent.
      const auto [broken, sent] = co_await asio::async_write(client->socket, asio::buffer(buffer, count), with_error);
      if (broken) break;
      client->idle_quarters = 0;
    }
    clients_.erase(client);  // closes the connection
  }

  /// One timer for all clients, which fires four times per timeout.
  asio::awaitable<void> close_idle_clients() {
    for (asio::steady_timer timer(loop_);;) {
      timer.expires_after(timeout_ / 4);
      co_await timer.async_wait(with_error);
      for (Client& client : clients_) {
        if (++client.idle_quarters != 5) continue;  // the first quarter may have been shorter
        client.socket.close();                      // its coroutine wakes with an error, and ends
        ++timed_out;
      }
    }
  }

  asio::io_context& loop_;
  tcp::acceptor acceptor_{loop_, {asio::ip::address_v4::loopback(), 0}};
  const std::chrono::milliseconds timeout_;
  const std::size_t max_clients_;
  std::list<Client> clients_;
};
