/// The references: echo servers on the system's bare interface, one as a loop, one as coroutines. Neither has timeouts,
/// nor deals with a client that does not read. Both take a recv and a send a message, and a share of an epoll_wait.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <coroutine>
#include <exception>

#include "clients.hpp"

/// What both have: a listening socket, an event for the end, and the epoll that tells which socket has something to
/// read.
class EpollBase {
 public:
  EpollBase() {
    sockaddr_in address = loop_back(0);
    socklen_t size = sizeof address;
    check(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), "bind");
    check(listen(listener_, SOMAXCONN), "listen");
    check(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    port_ = ntohs(address.sin_port);
  }
  EpollBase(const EpollBase&) = delete;
  EpollBase& operator=(const EpollBase&) = delete;
  ~EpollBase() {
    for (const int descriptor : {listener_, stop_, ready_}) close(descriptor);
  }

  unsigned short port() const { return port_; }

  /// Makes run() return when the last client has gone. To be called once, from any thread.
  void drain() { check(eventfd_write(stop_, 1), "eventfd_write"); }

 protected:
  /// From now on epoll_wait returns `data` while there is something to read.
  void watch(int descriptor, epoll_data data) {
    epoll_event event = {EPOLLIN, data};
    check(epoll_ctl(ready_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  }

  int wait() { return check(epoll_wait(ready_, events_.data(), events_.size(), -1), "epoll_wait"); }

  int accept_client() {
    const int client = check(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), "accept4");
    send_at_once(client);
    ++clients_;
    return client;
  }

  /// Sends back what there is to read; false if the client has gone, and then closes the socket.
  bool echo_once(int socket) {
    const ssize_t got = recv(socket, buffer_.data(), buffer_.size(), 0);
    if (got > 0 && send(socket, buffer_.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got) return true;
    close(socket);
    --clients_;
    return false;
  }

  int listener_ = check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  int stop_ = check(eventfd(0, EFD_CLOEXEC), "eventfd");
  int ready_ = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  unsigned short port_ = 0;
  std::array<epoll_event, 128> events_;
  std::array<char, 4096> buffer_;
  int clients_ = 0;
  bool stopped_ = false;
};

/// The loop asks of each event which socket it is of, and so what is to be done.
class EpollLoop : public EpollBase {
 public:
  void run() {
    watch(listener_, {.fd = listener_});
    watch(stop_, {.fd = stop_});
    while (!stopped_ || clients_ > 0) {
      for (int i = 0, count = wait(); i < count; ++i) {
        const int ready = events_[static_cast<std::size_t>(i)].data.fd;
        if (ready == listener_) {
          const int client = accept_client();
          watch(client, {.fd = client});
        } else if (ready == stop_) {
          eventfd_t value = 0;
          stopped_ = eventfd_read(stop_, &value) == 0;
        } else {
          echo_once(ready);
        }
      }
    }
  }
};

/// The loop knows only coroutines: an event carries the one that waits for it.
class EpollCoroutines : public EpollBase {
 public:
  void run() {
    const std::coroutine_handle<> acceptor = accept().handle;
    wait_for_stop();
    while (!stopped_ || clients_ > 0) {
      for (int i = 0, count = wait(); i < count; ++i) {
        std::coroutine_handle<>::from_address(events_[static_cast<std::size_t>(i)].data.ptr).resume();
      }
    }
    acceptor.destroy();  // the others have ended by themselves
  }

 private:
  /// A coroutine that starts at once, that nobody waits for, and whose frame goes when it ends.
  struct Detached {
    struct promise_type {
      Detached get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<> handle;
  };

  /// co_await Watched{...} registers the coroutine for a descriptor. From then on each co_await std::suspend_always{}
  /// waits until there is something to read.
  struct Watched {
    EpollCoroutines& server;
    int descriptor;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting) { server.watch(descriptor, {.ptr = waiting.address()}); }
    void await_resume() const {}
  };

  Detached echo(int socket) {
    co_await Watched{*this, socket};
    while (echo_once(socket)) co_await std::suspend_always{};
  }

  Detached accept() {
    co_await Watched{*this, listener_};
    for (;;) {
      echo(accept_client());
      co_await std::suspend_always{};
    }
  }

  Detached wait_for_stop() {
    co_await Watched{*this, stop_};
    eventfd_t value = 0;
    stopped_ = eventfd_read(stop_, &value) == 0;
  }
};
