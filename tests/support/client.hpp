/// A client of a server on this machine, with blocking sockets, on which every misdeed is one call.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cookbook/posix.hpp"

namespace test_support {

/// A connection to a server on this machine.
class Client {
 public:
  /// Throws std::system_error if no server lets it in.
  explicit Client(unsigned short port) : socket_(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
    // A small buffer, so that a client that does not read is soon felt by the server.
    const int bytes = 1 << 16;
    check(setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), "setsockopt");
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      const int reason = errno;
      close(socket_);
      throw std::system_error(reason, std::generic_category(), "connect");
    }
    const int yes = 1;  // a small message goes out at once
    check(setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "setsockopt");
    // A server that does not answer is a finding, not a reason to wait for ever.
    const timeval limit = {10, 0};
    check(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), "setsockopt");
  }

  Client(Client&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Client& operator=(Client&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Client() {
    if (socket_ >= 0) close(socket_);
  }

  /// Sends all of it; false if the server has broken the connection.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Receives `count` bytes; fewer if the server ends the connection first, or says nothing for ten seconds.
  std::string receive(std::size_t count) {
    std::string text(count, '\0');
    std::size_t have = 0;
    while (have < count) {
      const ssize_t got = recv(socket_, text.data() + have, count - have, 0);
      if (got < 0 && errno == EINTR) continue;  // io_uring in another thread of this process can do this, too
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
  }

  /// Sends without ever receiving, until nothing has gone out for 100 ms. Returns how many bytes have gone out.
  std::size_t flood() {
    const std::string block(1 << 16, '!');
    std::size_t sent = 0;
    pollfd room = {socket_, POLLOUT, 0};
    while (poll(&room, 1, 100) == 1) {
      const ssize_t count = ::send(socket_, block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) break;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    return sent;
  }

  /// Half-closes: the server sees the end of the stream, and can still answer.
  void end_stream() { shutdown(socket_, SHUT_WR); }

  /// Waits until the server ends the connection; false if ten seconds pass, or if it sends something instead.
  bool is_ended() {
    char byte = 0;
    const ssize_t got = recv(socket_, &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

  /// Breaks the connection without a farewell: the server gets a reset.
  void reset() {
    const linger at_once = {1, 0};
    check(setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), "setsockopt");
    close(std::exchange(socket_, -1));
  }

 private:
  int socket_;
};

}  // namespace test_support
