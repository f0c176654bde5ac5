/// A client of a server of this process: sends bytes, and reads what comes back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "fuzz.hpp"

class LocalClient {
 public:
  explicit LocalClient(unsigned short port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int failed = 0;
    // A port that a connection has used is not given away again for up to a minute, and a fuzzer makes thousands a
    // second.
    for (int tries = 0; tries < 700; ++tries) {
      failed = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
      if (failed != EADDRNOTAVAIL) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    require(failed == 0, ("a client can connect: " + std::generic_category().message(failed)).c_str());
  }
  ~LocalClient() { close(socket_); }
  LocalClient(const LocalClient&) = delete;
  LocalClient& operator=(const LocalClient&) = delete;

  /// Sends all of it, and says that nothing more comes. The server may have closed the connection before.
  void send_all(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    shutdown(socket_, SHUT_WR);
  }

  /// What comes until the server ends the connection.
  std::string receive_all() {
    std::string text;
    char buffer[4096];
    for (ssize_t count; (count = recv(socket_, buffer, sizeof buffer, 0)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int socket_;
};
