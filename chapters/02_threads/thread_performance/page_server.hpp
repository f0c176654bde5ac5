/// A web page on this machine, and a client that fetches it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

/// A socket or a file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// `result` of a call of the system; throws std::system_error if it is -1.
template <typename Result>
Result checked(Result result, const std::string& call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

inline sockaddr_in loop_back(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Serves a page of 2000 bytes on a port that the system chooses, each client in a thread of its own, `delay` after its
/// request: a distant server, as far as the client can tell. The destructor ends it and joins all its threads.
class PageServer {
 public:
  explicit PageServer(std::chrono::microseconds delay)
      : delay_(delay), listening_(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
    sockaddr_in address = loop_back(0);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    checked(bind(listening_.get(), generic, length), "bind");
    checked(listen(listening_.get(), 128), "listen");
    checked(getsockname(listening_.get(), generic, &length), "getsockname");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_clients(); });
  }

  ~PageServer() { shutdown(listening_.get(), SHUT_RDWR); }  // accept() returns; then the members are joined

  std::uint16_t port() const { return port_; }
  long requests() const { return requests_; }

 private:
  void accept_clients() {
    std::vector<std::jthread> clients;
    for (;;) {
      const int descriptor = accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (descriptor < 0) return;                 // shut down
      if (clients.size() == 64) clients.clear();  // joins them: no more than 64 at a time
      clients.emplace_back([this, client = Descriptor(descriptor)] { serve(client); });
    }
  }

  void serve(const Descriptor& client) {
    std::string request;
    char buffer[1024];
    while (!request.ends_with("\r\n\r\n")) {
      const ssize_t count = recv(client.get(), buffer, sizeof buffer, 0);
      if (count <= 0) return;  // the client has gone
      request.append(buffer, static_cast<std::size_t>(count));
    }
    ++requests_;
    std::this_thread::sleep_for(delay_);
    const std::string reply = "HTTP/1.0 200 OK\r\nContent-Length: 2000\r\n\r\n" + std::string(2000, 'x');
    send(client.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
  }

  std::chrono::microseconds delay_;
  Descriptor listening_;
  std::uint16_t port_ = 0;
  std::atomic<long> requests_ = 0;
  std::jthread acceptor_;
};

/// Fetches the page at `port` of this machine, and returns its first bytes, 1024 at most. Throws std::system_error if
/// nobody answers there.
inline std::string fetch_page(std::uint16_t port) {
  const Descriptor server(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in address = loop_back(port);
  checked(connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
          "connect to 127.0.0.1:" + std::to_string(port));
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  checked(send(server.get(), request.data(), request.size(), MSG_NOSIGNAL), "send");
  std::string page(1024, '\0');
  std::size_t filled = 0;
  while (filled < page.size()) {
    const ssize_t count = checked(recv(server.get(), page.data() + filled, page.size() - filled, 0), "recv");
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  page.resize(filled);
  return page;
}
