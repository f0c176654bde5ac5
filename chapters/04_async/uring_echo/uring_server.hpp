/// An echo server on io_uring: it asks the kernel to do operations, and is told when they are done.
#pragma once

#include <liburing.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <map>
#include <system_error>

/// The two queues that a program shares with the kernel. Throws std::system_error if the kernel refuses them.
class Ring {
 public:
  Ring() {
    if (const int error = io_uring_queue_init(256, &ring_, 0)) {
      throw std::system_error(-error, std::generic_category(), "io_uring_queue_init");
    }
  }
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// A free entry of the submission queue. If it is full, what is in it is submitted first.
  io_uring_sqe* entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    while (entry == nullptr) {
      submit(0);
      entry = io_uring_get_sqe(&ring_);
    }
    return entry;
  }

  /// Hands the new entries to the kernel, and waits until so many operations are complete: one system call for both.
  void submit(unsigned wait_for) {
    ++system_calls;
    const int submitted = io_uring_submit_and_wait(&ring_, wait_for);
    if (submitted < 0 && submitted != -EINTR) {
      throw std::system_error(-submitted, std::generic_category(), "io_uring_submit_and_wait");
    }
    if (submitted > 0) operations += submitted;
  }

  /// Calls handle(socket, result) for each operation that is complete.
  template <typename Handle>
  void for_each_completion(Handle handle) {
    unsigned head = 0, seen = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&ring_, head, completion) {
      ++seen;
      handle(static_cast<int>(io_uring_cqe_get_data64(completion)), completion->res);
    }
    io_uring_cq_advance(&ring_, seen);
  }

  long system_calls = 0;
  long operations = 0;  // that were handed over by these calls

 private:
  io_uring ring_ = {};
};

/// Serves so many clients, and returns when all of them have ended their connections. Throws std::system_error if the
/// system refuses something; the error of one client only ends that one.
class UringServer {
 public:
  UringServer(int listener, int clients) : listener_(listener), to_accept_(clients) {}

  void run() {
    accept_next();
    while (to_accept_ > 0 || !clients_.empty()) {
      ring_.submit(1);
      ring_.for_each_completion([&](int socket, int result) {
        if (socket == listener_) {
          accepted(result);
        } else {
          moved(socket, clients_.at(socket), result);
        }
      });
    }
  }

  long system_calls() const { return ring_.system_calls; }
  long operations() const { return ring_.operations; }

 private:
  /// Exactly one operation of each client is under way, so the kernel alone uses the buffer meanwhile.
  struct Client {
    std::size_t to_send = 0, sent = 0;  // to_send is 0 while it receives
    std::array<char, 4096> buffer = {};
  };

  void accept_next() {
    io_uring_sqe* entry = ring_.entry();
    io_uring_prep_accept(entry, listener_, nullptr, nullptr, SOCK_CLOEXEC);
    io_uring_sqe_set_data64(entry, static_cast<unsigned>(listener_));
  }

  void receive(int socket, Client& client) {
    client.to_send = client.sent = 0;
    io_uring_sqe* entry = ring_.entry();
    io_uring_prep_recv(entry, socket, client.buffer.data(), client.buffer.size(), 0);
    io_uring_sqe_set_data64(entry, static_cast<unsigned>(socket));
  }

  void send_rest(int socket, Client& client) {
    io_uring_sqe* entry = ring_.entry();
    io_uring_prep_send(entry, socket, client.buffer.data() + client.sent, client.to_send - client.sent, MSG_NOSIGNAL);
    io_uring_sqe_set_data64(entry, static_cast<unsigned>(socket));
  }

  /// A client has come; or `socket` is a negative error number.
  void accepted(int socket) {
    if (socket < 0) throw std::system_error(-socket, std::generic_category(), "accept");
    if (--to_accept_ > 0) accept_next();
    receive(socket, clients_[socket]);
  }

  /// The operation of a client is complete: so many bytes were moved. 0 is the end of the stream, below 0 is an error.
  void moved(int socket, Client& client, int bytes) {
    if (bytes <= 0) {
      clients_.erase(socket);
      close(socket);
    } else if (client.to_send == 0) {
      client.to_send = static_cast<std::size_t>(bytes);
      send_rest(socket, client);
    } else {
      client.sent += static_cast<std::size_t>(bytes);
      if (client.sent < client.to_send) {
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
