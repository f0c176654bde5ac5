/// The same echo server on epoll, to compare with: it is told which sockets are ready, and does the operations itself.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <map>

#include "cookbook/posix.hpp"

/// Serves so many clients, and returns when all of them have ended their connections. A client that does not read its
/// answers is closed. Counts the system calls that wait, watch, accept, receive and send. With `own_buffers` each
/// client has a buffer of its own; `more_calls` are system calls that do nothing, made for each message.
class EpollServer {
 public:
  EpollServer(int listener, int clients, bool own_buffers = false, int more_calls = 0)
      : listener_(listener), to_accept_(clients), own_buffers_(own_buffers), more_calls_(more_calls) {
    watch(listener);
  }
  ~EpollServer() { close(ready_); }
  EpollServer(const EpollServer&) = delete;
  EpollServer& operator=(const EpollServer&) = delete;

  void run() {
    std::array<epoll_event, 128> events;
    while (to_accept_ > 0 || open_ > 0) {
      const int count = check(epoll_wait(ready_, events.data(), events.size(), -1), "epoll_wait");
      ++calls_;
      for (int i = 0; i < count; ++i) serve(events[static_cast<std::size_t>(i)].data.fd);
    }
  }

  long system_calls() const { return calls_; }

 private:
  void watch(int descriptor) {
    epoll_event event = {EPOLLIN, {.fd = descriptor}};
    check(epoll_ctl(ready_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
    ++calls_;
  }

  /// Something can be read from this socket, or it is the listener and a client has come.
  void serve(int socket) {
    ++calls_;
    if (socket == listener_) {
      const int client = check(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), "accept4");
      ++open_;
      watch(client);
      if (--to_accept_ == 0) {
        check(epoll_ctl(ready_, EPOLL_CTL_DEL, listener_, nullptr), "epoll_ctl");
        ++calls_;
      }
      return;
    }
    std::array<char, 4096>& buffer = buffers_[own_buffers_ ? socket : 0];
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      ++calls_;
      if (send(socket, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got) {
        for (int i = 0; i < more_calls_; ++i, ++calls_) getppid();
        return;
      }
    }
    buffers_.erase(socket);
    close(socket);
    --open_;
  }

  const int ready_ = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  int listener_, to_accept_, open_ = 0;
  bool own_buffers_;
  int more_calls_;
  long calls_ = 0;
  std::map<int, std::array<char, 4096>> buffers_;  // by their sockets; or a single one, number 0
};
