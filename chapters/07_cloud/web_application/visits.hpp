/// For the visitor: requests as texts, and what comes back.
#pragma once

#include <string>

#include "../../04_async/echo_server/clients.hpp"

inline std::string request(const std::string& method, const std::string& path, const std::string& fields = "",
                           const std::string& body = "") {
  return method + ' ' + path + " HTTP/1.1\r\nHost: here\r\n" + fields + "\r\n" + body;
}

struct Reply {
  int status = 0;  ///< 0 if none came
  std::string head, body;

  /// The value of a header field, empty if there is none.
  std::string field(const std::string& name) const {
    const std::size_t found = head.find("\r\n" + name + ": ");
    if (found == std::string::npos) return "";
    const std::size_t begin = found + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  std::string text() const { return std::to_string(status) + ' ' + body; }
};

/// Receives one reply; of one to HEAD, the head alone.
inline Reply receive_reply(Client& client, bool head_only = false) {
  Reply reply;
  while (!reply.head.ends_with("\r\n\r\n")) {
    const std::string byte = client.receive(1);
    if (byte.empty()) return {};
    reply.head += byte;
  }
  reply.status = std::stoi(reply.head.substr(9, 3));
  if (const std::string length = reply.field("Content-Length"); !head_only && !length.empty()) {
    reply.body = client.receive(std::stoul(length));
  }
  return reply;
}

/// Sends `text` on a connection of its own, and receives one reply.
inline Reply visit(unsigned short port, const std::string& text) {
  Client client(port);
  client.send(text);
  return receive_reply(client, text.starts_with("HEAD"));
}
