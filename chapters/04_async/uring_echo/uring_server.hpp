/// An echo server on io_uring: it asks the kernel to do operations, and is told when they are done.
#pragma once

#include <liburing.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <map>
#include <system_error>

#include "ring.hpp"

/// Serves so many clients, and returns when all of them have ended their connections. Throws std::system_error if the
/// system refuses something; the error of one client only ends that one.
class UringServer {
 public:
  /// The flags are those of io_uring_queue_init().
  UringServer(int listener, int clients, unsigned flags = 0) : listener_(listener), to_accept_(clients), ring_(flags) {}

  void run() {
    accept_next();
    while (to_accept_ > 0 || !clients_.empty()) {
      ring_.submit(1);
      ring_.for_each_completion([&](int socket, int result) {
        if (socket == listener_) {
          accepted(result);
        } else {
          completed(socket, clients_.at(socket), result);
        }
      });
    }
  }

  long system_calls() const { return ring_.system_calls; }
  long operations() const { return ring_.operations; }

 private:
  /// Exactly one operation of each client is under way, so the kernel alone uses the buffer meanwhile.
  struct Client {
    enum { receiving, sending } operation = receiving;  // the one that is under way
    std::size_t received = 0, sent = 0;                 // bytes of the buffer
    std::array<char, 4096> buffer = {};
  };

  void accept_next() {
    io_uring_sqe* entry = ring_.entry();
    io_uring_prep_accept(entry, listener_, nullptr, nullptr, SOCK_CLOEXEC);
    io_uring_sqe_set_data64(entry, static_cast<unsigned>(listener_));
  }

  void receive(int socket, Client& client) {
    client.operation = Client::receiving;
    io_uring_sqe* entry = ring_.entry();
    io_uring_prep_recv(entry, socket, client.buffer.data(), client.buffer.size(), 0);
    io_uring_sqe_set_data64(entry, static_cast<unsigned>(socket));
  }

  void send_rest(int socket, Client& client) {
    client.operation = Client::sending;
    io_uring_sqe* entry = ring_.entry();
    io_uring_prep_send(entry, socket, client.buffer.data() + client.sent, client.received - client.sent, MSG_NOSIGNAL);
    io_uring_sqe_set_data64(entry, static_cast<unsigned>(socket));
  }

  /// A client has come; or `socket` is a negative error number.
  void accepted(int socket) {
    if (socket < 0) throw std::system_error(-socket, std::generic_category(), "accept");
    if (--to_accept_ > 0) accept_next();
    receive(socket, clients_[socket]);
  }

  /// The operation of a client is complete and has moved so many bytes. 0: its stream has ended; below 0: an error.
  void completed(int socket, Client& client, int bytes) {
    if (bytes <= 0) {
      clients_.erase(socket);
      close(socket);
    } else if (client.operation == Client::receiving) {
      client.received = static_cast<std::size_t>(bytes);
      client.sent = 0;
      send_rest(socket, client);
    } else {
      client.sent += static_cast<std::size_t>(bytes);
      if (client.sent < client.received) {
        send_rest(socket, client);
      } else {
        receive(socket, client);
      }
    }
  }

  int listener_, to_accept_;
  std::map<int, Client> clients_;  // by their sockets; they must not move, since the kernel knows their buffers
  Ring ring_;                      // ends before the buffers do
};
