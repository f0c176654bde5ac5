/// The echo server for the open world: it copes with clients that are many, slow, silent or gone, and ends cleanly.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <csignal>
#include <list>

namespace asio = boost::asio;
using asio::ip::tcp;

class SturdyServer {
 public:
  /// Serves at most `max_clients` clients at once, and closes those that move no byte for `timeout`.
  SturdyServer(unsigned short port, std::chrono::milliseconds timeout, std::size_t max_clients)
      : acceptor_(loop_, {asio::ip::address_v4::loopback(), port}), timeout_(timeout), max_clients_(max_clients) {
    // Else the kernel lets each client's buffers grow to megabytes. Accepted sockets inherit these.
    acceptor_.set_option(tcp::socket::receive_buffer_size(1 << 16));
    acceptor_.set_option(tcp::socket::send_buffer_size(1 << 16));
  }

  unsigned short port() const { return acceptor_.local_endpoint().port(); }

  /// Serves until drain() or a signal, and until the last client has gone.
  void run() {
    asio::co_spawn(loop_, accept(), asio::detached);
    asio::co_spawn(loop_, close_idle_clients(), asio::detached);
    loop_.run();
  }

  /// Lets nobody new in, and ends each client once what it sent is answered. May be called from any thread.
  void drain() {
    asio::post(loop_, [this] { drain_now(); });
  }

  /// The same at the first SIGTERM or SIGINT; a second one breaks all connections.
  void drain_on_signals() {
    for (const int signal : {SIGTERM, SIGINT}) signals_.add(signal);
    asio::co_spawn(loop_, obey_signals(), asio::detached);
  }

  // Counts of clients, to be read once run() has returned.
  int served = 0, rejected = 0, timed_out = 0;
  std::size_t at_once = 0;

 private:
  struct Peer {
    tcp::socket socket;
    int moved;  ///< the tick in which a byte last moved
  };
  using Peers = std::list<Peer>;

  /// Makes an operation give (error, result) instead of an exception, and without a coroutine of its own to wait in.
  static constexpr auto with_error = asio::as_tuple(asio::deferred);

  asio::awaitable<void> echo(Peers::iterator peer) {
    std::array<char, 4096> buffer;  // in the coroutine's frame, which is all the memory that a client gets
    for (;;) {
      const auto [ended, count] = co_await peer->socket.async_read_some(asio::buffer(buffer), with_error);
      if (ended) break;
      note_move(*peer);

      // A send nearly always takes all of it at once; only if not is there something to wait for. Until all is sent
      // nothing more is read, so a client that sends and never reads holds up itself alone.
      boost::system::error_code not_now;
      if (const auto sent = peer->socket.write_some(asio::buffer(buffer, count), not_now); sent < count) {
        const auto rest = asio::buffer(buffer.data() + sent, count - sent);
        if (const auto [broken, more] = co_await asio::async_write(peer->socket, rest, with_error); broken) break;
        note_move(*peer);
      }
    }
    peers_.erase(peer);
    end_if_drained();
  }

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(with_error);
      if (!acceptor_.is_open()) break;
      if (error) {  // no file descriptor is left, say: to try again at once would be a busy loop
        asio::steady_timer pause(loop_, std::chrono::milliseconds(10));
        co_await pause.async_wait(with_error);
      } else if (peers_.size() >= max_clients_) {
        ++rejected;
      } else {
        boost::system::error_code gone;
        socket.set_option(tcp::no_delay(true), gone);
        socket.non_blocking(true, gone);  // write_some takes what it can, and never waits
        peers_.push_front({std::move(socket), tick_});
        ++served;
        at_once = std::max(at_once, peers_.size());
        asio::co_spawn(loop_, echo(peers_.begin()), asio::detached);
      }
    }
  }

  /// One timer for all: whoever has moved no byte for four ticks is closed. A timer a client would cost each message.
  asio::awaitable<void> close_idle_clients() {
    while (!is_drained()) {
      clock_.expires_after(timeout_ / 4);
      co_await clock_.async_wait(with_error);
      ++tick_;
      for (Peer& peer : peers_) {
        if (tick_ - peer.moved > 4 && peer.socket.is_open()) {
          break_off(peer);
          ++timed_out;
        }
      }
    }
  }

  /// While draining, nobody gets more time, so that takes no longer than the timeout.
  void note_move(Peer& peer) const {
    if (!draining_) peer.moved = tick_;
  }

  /// Closes the socket, whereupon its coroutine wakes with an error.
  static void break_off(Peer& peer) {
    boost::system::error_code gone;
    peer.socket.close(gone);
  }

  void drain_now() {
    draining_ = true;
    acceptor_.close();
    boost::system::error_code gone;
    // Each coroutine reads and answers what has arrived, then meets the end of the stream, and ends by itself.
    for (Peer& peer : peers_) peer.socket.shutdown(tcp::socket::shutdown_receive, gone);
    end_if_drained();
  }

  bool is_drained() const { return draining_ && peers_.empty(); }

  /// Then run() returns, since nothing is left to wait for: no client, no clock, no signal.
  void end_if_drained() {
    if (!is_drained()) return;
    clock_.cancel();
    signals_.cancel();
  }

  asio::awaitable<void> obey_signals() {
    co_await signals_.async_wait(with_error);
    drain_now();
    if (!is_drained()) co_await signals_.async_wait(with_error);
    for (Peer& peer : peers_) break_off(peer);
  }

  asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};  // one thread has the sockets: they need no locks
  tcp::acceptor acceptor_;
  asio::steady_timer clock_{loop_};
  asio::signal_set signals_{loop_};
  std::chrono::milliseconds timeout_;
  std::size_t max_clients_;
  Peers peers_;
  int tick_ = 0;
  bool draining_ = false;
};
