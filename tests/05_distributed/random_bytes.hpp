/// Random texts and changes of texts, the same in every run: what a server must survive.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <initializer_list>
#include <random>
#include <string>

class RandomBytes {
 public:
  explicit RandomBytes(unsigned seed) : random_(seed) {}

  /// A number from 0 to n - 1.
  std::size_t below(std::size_t n) { return random_() % n; }

  bool one_in(std::size_t n) { return below(n) == 0; }

  std::string pick(std::initializer_list<std::string> texts) { return texts.begin()[below(texts.size())]; }

  /// Up to `most` bytes: letters, any bytes, or one byte many times.
  std::string bytes(std::size_t most) {
    std::string text(below(most + 1), 'x');
    const std::size_t kind = below(4);
    for (char& byte : text) byte = static_cast<char>(kind < 2 ? 'a' + below(26) : below(256));
    return kind == 3 ? std::string(text.size(), text.empty() ? 'x' : text[0]) : text;
  }

  /// `text` as it is, cut off anywhere, with some bytes changed, with a part twice, or with bytes in between.
  std::string changed(std::string text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        return text.substr(0, at);
      case 1:
        for (std::size_t i = below(4); i > 0 && !text.empty(); --i)
          text[below(text.size())] = static_cast<char>(below(256));
        return text;
      case 2:
        return text.substr(0, at) + text.substr(below(at + 1));
      case 3:
        return text.substr(0, at) + bytes(20) + text.substr(at);
      default:
        return text;
    }
  }

 private:
  std::mt19937 random_;
};

/// Connects to a port of this machine, sends bytes, and closes the connection: in good order, or by a reset. False if
/// nobody listens.
inline bool send_and_leave(int port, const std::string& bytes, bool reset) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (connected) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const linger at_once = {1, 0};
    if (reset || sent < 0) setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  close(socket);
  return connected;
}
