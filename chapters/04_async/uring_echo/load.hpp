/// The other side: a listening socket, and clients that put load on a server.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/posix.hpp"

/// A socket that listens on a free port of 127.0.0.1. What is accepted from it sends small messages at once.
struct Listener {
  Listener() {
    const int yes = 1;
    check(setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "setsockopt");  // clients inherit it
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    check(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
    check(listen(descriptor, SOMAXCONN), "listen");
    check(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
    port = ntohs(address.sin_port);
  }
  ~Listener() { close(descriptor); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const int descriptor = check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  unsigned short port = 0;
};

struct Load {
  double seconds;
  int right_answers;
};

/// Makes so many connections. In each round it sends a message of 64 bytes on every connection, each unlike all others,
/// and then reads all answers. Ends the connections. Returns how long the rounds took, and how many answers were right.
inline Load exchange(unsigned short port, int clients, int messages) {
  std::vector<int> sockets;
  for (int i = 0; i < clients; ++i) {
    const int one = sockets.emplace_back(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(connect(one, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
    const int yes = 1;
    check(setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "setsockopt");
  }
  int right_answers = 0;
  std::string message(64, ' '), answer(64, ' ');
  const cookbook::Stopwatch watch;
  for (int i = 0; i < messages; ++i) {
    const auto make_message = [&](int socket) {
      message.replace(0, 8, std::to_string(10'000'000 + i)).replace(8, 4, std::to_string(1'000 + socket));
    };
    for (const int one : sockets) {
      make_message(one);
      check(send(one, message.data(), message.size(), MSG_NOSIGNAL), "send");
    }
    for (const int one : sockets) {
      make_message(one);
      right_answers += check(recv(one, answer.data(), answer.size(), MSG_WAITALL), "recv") == 64 && answer == message;
    }
  }
  const Load load = {watch.seconds(), right_answers};
  for (const int one : sockets) close(one);
  return load;
}
