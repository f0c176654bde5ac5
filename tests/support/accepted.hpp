/// The connections that a server in the test's own process has accepted, to look at the options of their sockets.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cookbook/posix.hpp"

namespace test_support {

/// The descriptors of this process that are the server's ends of connections to this port.
inline std::vector<int> accepted_sockets(unsigned short port) {
  std::vector<int> found;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(descriptor.path().filename());
    sockaddr_in own = {}, peer = {};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 || own.sin_family != AF_INET) continue;
    if (ntohs(own.sin_port) != port) continue;
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) continue;  // it listens
    found.push_back(socket);
  }
  return found;
}

/// An option of a socket that is a number.
inline int option_of(int socket, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  check(getsockopt(socket, level, name, &value, &size), "getsockopt");
  return value;
}

}  // namespace test_support
