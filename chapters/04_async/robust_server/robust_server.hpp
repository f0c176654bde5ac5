/// An echo server for clients that nobody knows: it limits what each connection can use up, and how many there are.
#pragma once

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <tuple>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// With this, co_await gives a pair of error and result. Nothing is thrown.
inline constexpr auto with_error = asio::as_tuple(asio::deferred);

/// What becomes of an exception that ends a coroutine: it leaves the loop's run(). (asio::detached would drop it.)
inline void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

/// Serves while its loop runs, or until stop().
class RobustServer {
 public:
  /// Listens on a free port of 127.0.0.1. Closes at once clients beyond `max_clients`, and others that make no
  /// progress for `timeout` (up to a quarter later, or more on a busy machine). Progress is that something has been
  /// read from the client, or that the system has taken over a whole answer for it.
  RobustServer(asio::io_context& loop, std::chrono::milliseconds timeout, std::size_t max_clients)
      : loop_(loop), timeout_(timeout), max_clients_(max_clients) {
    acceptor_.open(tcp::v4());
    // Without these, the system lets the buffers of each connection grow to megabytes. Accepted sockets inherit them,
    // if they are set before listen().
    acceptor_.set_option(tcp::socket::receive_buffer_size(1 << 16));
    acceptor_.set_option(tcp::socket::send_buffer_size(1 << 16));
    acceptor_.bind({asio::ip::address_v4::loopback(), 0});
    acceptor_.listen();
    asio::co_spawn(loop, accept(), rethrow);
    asio::co_spawn(loop, close_idle_clients(), rethrow);
  }

  /// An orderly end. From now on nobody is accepted, and nothing new is read. Each client gets the rest of the answer
  /// that is under way, and then the end of the stream. Who is still there after `grace` is closed.
  asio::awaitable<void> stop(std::chrono::milliseconds grace) {
    stopping_ = true;
    acceptor_.close();
    quarter_.cancel();  // from now on `grace` limits what a client may take
    for (Client& client : clients_) {
      if (client.reading) client.socket.cancel();  // no answer is under way: its coroutine goes on to the farewell
    }
    all_gone_.expires_after(grace);
    if (!clients_.empty()) co_await all_gone_.async_wait(with_error);
    for (Client& client : clients_) client.socket.close();
  }

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  int timed_out = 0;  ///< clients closed, because they made no progress

 private:
  struct Client {
    tcp::socket socket;
    int idle_quarters = 0;  // how often the timer has fired since it last made progress
    bool reading = false;   // waits for what the client says, and owes it nothing
  };

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(with_error);
      if (stopping_) co_return;
      if (error) {  // such as no file descriptor left: to try again at once would be a busy loop
        co_await asio::steady_timer(loop_, std::chrono::milliseconds(10)).async_wait(with_error);
      } else if (clients_.size() < max_clients_) {
        socket.set_option(tcp::no_delay(true), error);  // send small messages at once
        clients_.push_front({std::move(socket)});
        asio::co_spawn(loop_, serve(clients_.begin()), rethrow);
      }  // else the destructor of `socket` closes the connection
    }
  }

  asio::awaitable<void> serve(std::list<Client>::iterator client) {
    std::array<char, 4096> buffer;  // all that the program keeps of what a client sends
    while (!stopping_) {
      client->reading = true;
      const auto [ended, count] = co_await client->socket.async_read_some(asio::buffer(buffer), with_error);
      client->reading = false;
      if (ended) break;
      client->idle_quarters = 0;
      // Nothing more is read until this is sent.
      const auto [broken, sent] = co_await asio::async_write(client->socket, asio::buffer(buffer, count), with_error);
      if (broken) break;
      client->idle_quarters = 0;
    }
    if (stopping_) co_await say_farewell(client->socket);
    clients_.erase(client);  // closes the connection
    if (clients_.empty()) all_gone_.cancel();
  }

  /// Ends the stream, and waits until the client has ended its own. To close at once, with something unread, would
  /// reset the connection, and what the system has not sent yet would be lost.
  static asio::awaitable<void> say_farewell(tcp::socket& socket) {
    std::array<char, 4096> unwanted;
    error_code ended;
    socket.shutdown(tcp::socket::shutdown_send, ended);
    while (!ended) std::tie(ended, std::ignore) = co_await socket.async_read_some(asio::buffer(unwanted), with_error);
  }

  /// One timer for all clients, which fires four times per timeout.
  asio::awaitable<void> close_idle_clients() {
    for (;;) {
      quarter_.expires_after(std::chrono::microseconds(timeout_) / 4);
      const auto [stopped] = co_await quarter_.async_wait(with_error);
      if (stopped || stopping_) co_return;  // stop() cannot cancel a wait that is just over
      for (Client& client : clients_) {
        if (++client.idle_quarters != 5) continue;  // the first quarter may have been shorter
        client.socket.close();                      // its coroutine wakes with an error, and ends
        ++timed_out;
      }
    }
  }

  asio::io_context& loop_;
  tcp::acceptor acceptor_{loop_};
  const std::chrono::milliseconds timeout_;
  const std::size_t max_clients_;
  asio::steady_timer quarter_{loop_}, all_gone_{loop_};
  bool stopping_ = false;
  std::list<Client> clients_;
};
