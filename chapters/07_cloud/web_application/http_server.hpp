/// The connections: one thread, one event loop of Boost.Asio, a coroutine a connection, as the SturdyServer of
/// 04_async/echo_server has them.
#pragma once

#include <boost/asio.hpp>
#include <chrono>
#include <csignal>
#include <list>

#include "dialogue.hpp"

using asio::ip::tcp;

class HttpServer {
 public:
  /// Listens on 127.0.0.1. A connection on which no request is completed for `timeout` is closed; one more than
  /// `max_connections` at once is rejected.
  HttpServer(const Routes& routes, unsigned short port, std::chrono::milliseconds timeout, std::size_t max_connections)
      : routes_(routes),
        acceptor_(loop_, {asio::ip::address_v4::loopback(), port}),
        timeout_(timeout),
        max_connections_(max_connections) {
    // Else the kernel lets each connection's buffers grow to megabytes. Accepted sockets inherit these.
    acceptor_.set_option(tcp::socket::receive_buffer_size(1 << 16));
    acceptor_.set_option(tcp::socket::send_buffer_size(1 << 16));
  }

  unsigned short port() const { return acceptor_.local_endpoint().port(); }
  const Counters& counters() const { return counters_; }
  std::size_t open_connections() const { return peers_.size(); }

  /// Serves until SIGTERM or SIGINT, and then until the requests that have begun are answered. A second signal breaks
  /// all connections.
  void run() {
    for (const int signal : {SIGTERM, SIGINT}) signals_.add(signal);
    asio::co_spawn(loop_, obey_signals(), asio::detached);
    asio::co_spawn(loop_, accept(), asio::detached);
    asio::co_spawn(loop_, watch_the_clock(), asio::detached);
    loop_.run();
  }

 private:
  struct Peer {
    tcp::socket socket;
    int since;                ///< the tick in which the last request was answered, or the connection made
    bool in_request = false;  ///< whether a request has begun and is not complete
  };
  using Peers = std::list<Peer>;
  using Next = Dialogue::Next;

  /// Makes an operation give (error, result), without a coroutine of its own to wait in.
  static constexpr auto with_error = asio::as_tuple(asio::deferred);

  asio::awaitable<void> converse(Peers::iterator peer) {
    Dialogue dialogue(routes_, counters_);
    for (Next next = Next::read; next != Next::write_and_end;) {
      if (next == Next::read) {
        const auto [ended, count] = co_await peer->socket.async_read_some(dialogue.room(), with_error);
        if (ended) break;
        dialogue.take(count);
      }
      next = dialogue.answer();

      if (!dialogue.output.empty()) {
        // Nothing more is read until this is out, so a client that asks and never reads holds up itself alone.
        // A send nearly always takes all of it at once; only then is there nothing to wait for.
        error_code not_now;
        asio::const_buffer rest = asio::buffer(dialogue.output);
        rest += peer->socket.write_some(rest, not_now);
        if (rest.size() > 0) {
          if (const auto [broken, count] = co_await asio::async_write(peer->socket, rest, with_error); broken) break;
        }
        dialogue.output.clear();
        if (!draining_) peer->since = tick_;
      }
      peer->in_request = dialogue.in_request();
      if (draining_ && !peer->in_request) stop_reading(*peer);
      if (next == Next::write_and_end) co_await let_the_client_read(peer->socket, dialogue.room());
    }
    peers_.erase(peer);
    end_if_drained();
  }

  /// A close while bytes of the client are unread sends a reset, which may overtake the answer and destroy it. So: no
  /// more from here, and what still comes is thrown away, until the client has ended, too, or its time is up, or it is
  /// too much.
  static asio::awaitable<void> let_the_client_read(tcp::socket& socket, asio::mutable_buffer scratch) {
    error_code gone;
    socket.shutdown(tcp::socket::shutdown_send, gone);
    for (std::size_t thrown_away = 0; thrown_away < 1 << 20;) {
      const auto [ended, count] = co_await socket.async_read_some(scratch, with_error);
      if (ended) break;
      thrown_away += count;
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(with_error);
      if (!acceptor_.is_open()) break;
      if (error) {  // no file descriptor is left, say: to try again at once would be a busy loop
        asio::steady_timer pause(loop_, std::chrono::milliseconds(10));
        co_await pause.async_wait(with_error);
      } else if (peers_.size() >= max_connections_) {
        ++counters_.rejected;
      } else {
        error_code gone;
        socket.set_option(tcp::no_delay(true), gone);
        socket.non_blocking(true, gone);
        peers_.push_front({std::move(socket), tick_});
        ++counters_.connections;
        asio::co_spawn(loop_, converse(peers_.begin()), asio::detached);
      }
    }
  }

  /// One timer for all. A client that sends its request byte by byte is as late as one that says nothing.
  asio::awaitable<void> watch_the_clock() {
    while (!is_drained()) {
      clock_.expires_after(timeout_ / 4);
      co_await clock_.async_wait(with_error);
      ++tick_;
      for (Peer& peer : peers_) {
        if (tick_ - peer.since > 4 && peer.socket.is_open()) {
          break_off(peer);
          ++counters_.timed_out;
        }
      }
    }
  }

  asio::awaitable<void> obey_signals() {
    co_await signals_.async_wait(with_error);
    draining_ = true;
    acceptor_.close();
    // What has arrived is answered, and so is what has begun.
    for (Peer& peer : peers_) {
      if (!peer.in_request) stop_reading(peer);
    }
    end_if_drained();
    if (!is_drained()) co_await signals_.async_wait(with_error);
    for (Peer& peer : peers_) break_off(peer);
  }

  /// Its coroutine reads what has arrived, then meets the end of the stream.
  static void stop_reading(Peer& peer) {
    error_code gone;
    peer.socket.shutdown(tcp::socket::shutdown_receive, gone);
  }

  /// Closes the socket, whereupon its coroutine wakes with an error.
  static void break_off(Peer& peer) {
    error_code gone;
    peer.socket.close(gone);
  }

  bool is_drained() const { return draining_ && peers_.empty(); }

  /// Then run() returns, since nothing is left to wait for.
  void end_if_drained() {
    if (!is_drained()) return;
    clock_.cancel();
    signals_.cancel();
  }

  asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};  // one thread has the sockets: they need no locks
  const Routes& routes_;
  tcp::acceptor acceptor_;
  asio::steady_timer clock_{loop_};
  asio::signal_set signals_{loop_};
  std::chrono::milliseconds timeout_;
  std::size_t max_connections_;
  Peers peers_;
  Counters counters_;
  int tick_ = 0;
  bool draining_ = false;
};
