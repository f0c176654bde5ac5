/// What the network costs without Cap'n Proto: 64 bytes there and back over TCP, by plain system calls.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../03_processes/child.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

class BareEcho {
 public:
  BareEcho() {
    const int listener = check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    check(bind(listener, reinterpret_cast<sockaddr*>(&address), size), "bind");
    check(listen(listener, 1), "listen");
    check(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");

    child_ = start_child([&] {
      const int client = without_delay(check(accept(listener, nullptr, nullptr), "accept"));
      char bytes[64];
      while (recv(client, bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes) {
        if (write(client, bytes, sizeof bytes) != sizeof bytes) break;
      }
    });
    close(listener);
    server_ = without_delay(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    check(connect(server_, reinterpret_cast<sockaddr*>(&address), size), "connect");
  }

  ~BareEcho() {
    close(server_);
    exit_code_of(child_);
  }

  BareEcho(const BareEcho&) = delete;
  BareEcho& operator=(const BareEcho&) = delete;

  pid_t pid() const { return child_; }

  void there_and_back() {
    char bytes[64] = {};
    check(write(server_, bytes, sizeof bytes), "write");
    if (recv(server_, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes) cookbook::system_refused("recv");
  }

 private:
  /// Small messages leave at once, as Cap'n Proto's do.
  static int without_delay(int connection) {
    const int on = 1;
    check(setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
    return connection;
  }

  pid_t child_ = -1;
  int server_ = -1;
};
