/// Functions to call: one that computes, one that reads a file, one that fetches web pages.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/posix.hpp"

/// The Fibonacci number F(n), by n additions of numbers of any length: 18 decimal digits per element, the lowest first.
inline std::vector<std::uint64_t> fibonacci(int n) {
  constexpr std::uint64_t base = 1'000'000'000'000'000'000;
  std::vector<std::uint64_t> a = {0}, b = {1};
  for (int i = 0; i < n; ++i) {
    a.resize(b.size());
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::uint64_t sum = a[k] + b[k] + carry;
      carry = sum >= base ? 1 : 0;
      a[k] = sum - carry * base;
    }
    if (carry != 0) a.push_back(carry);
    std::swap(a, b);
  }
  return a;
}

/// Makes a file of 1000 blocks of 1024 bytes. It has no name and is gone when the program ends; returns a path by which
/// this process can open it.
inline std::string make_block_file() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) cookbook::exit_with_errno("tmpfile");
  for (int i = 0; i < 1000 * 1024; ++i) std::fputc('x', file);
  if (std::fflush(file) != 0) cookbook::exit_with_errno("write to a temporary file");
  return fmt::format("/proc/self/fd/{}", fileno(file));
}

/// Reads up to 1000 blocks of 1024 bytes and returns how many bytes there were. Each call opens the file anew: threads
/// that share one open file share its position, too.
inline long read_blocks(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  char block[1024];
  long bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    file.read(block, sizeof block);
    bytes += file.gcount();
  }
  return bytes;
}

/// The address of a port of this machine.
inline sockaddr_in local_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline const std::string page_request = "GET / HTTP/1.0\r\n\r\n";

/// Fetches ten pages from the server at a port of this machine, the first 1024 bytes of each, and returns how many
/// bytes these were.
inline long fetch_pages(std::uint16_t port) {
  const sockaddr_in address = local_address(port);
  long bytes = 0;
  for (int page = 0; page < 10; ++page) {
    const int server = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    check(connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
    check(send(server, page_request.data(), page_request.size(), MSG_NOSIGNAL), "send");
    char start[1024];
    bytes += check(recv(server, start, sizeof start, MSG_WAITALL), "recv");
    close(server);
  }
  return bytes;
}

/// A web server inside this process, which answers as if it were far away: each request after `delay`, with a page of
/// 2000 bytes. It listens at a port that the system chooses.
class PageServer {
 public:
  explicit PageServer(std::chrono::microseconds delay) : delay_(delay) {
    sockaddr_in address = local_address(0);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    listening_ = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    check(bind(listening_, generic, length), "bind");
    check(listen(listening_, 128), "listen");
    check(getsockname(listening_, generic, &length), "getsockname");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_clients(); });
  }

  ~PageServer() {
    shutdown(listening_, SHUT_RDWR);  // accept() fails from now on
    acceptor_.join();
    close(listening_);
  }

  std::uint16_t port() const { return port_; }

  int requests() {
    std::scoped_lock lock(mutex_);
    return requests_;
  }

  /// How many requests waited for their answer at the same time, at most, since the last call.
  int most_at_once() {
    std::scoped_lock lock(mutex_);
    return std::exchange(most_, 0);
  }

 private:
  void accept_clients() {
    std::deque<std::jthread> threads;  // one per client; the destructors wait for them
    for (int client; (client = accept(listening_, nullptr, nullptr)) >= 0;) {
      if (threads.size() == 256) threads.pop_front();  // has mostly ended: only 64 clients ask at the same time
      threads.emplace_back([this, client] {
        answer(client);
        close(client);
      });
    }
  }

  void answer(int client) {
    std::string request(page_request.size(), ' ');
    recv(client, request.data(), request.size(), MSG_WAITALL);
    if (request != page_request) return;
    count_request(+1);
    std::this_thread::sleep_for(delay_);
    count_request(-1);
    const std::string reply = "HTTP/1.0 200 OK\r\nContent-Length: 2000\r\n\r\n" + std::string(2000, 'x');
    send(client, reply.data(), reply.size(), MSG_NOSIGNAL);
  }

  void count_request(int change) {
    std::scoped_lock lock(mutex_);
    if (change > 0) ++requests_;
    waiting_ += change;
    most_ = std::max(most_, waiting_);
  }

  std::chrono::microseconds delay_;
  int listening_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;  // protects what follows
  int requests_ = 0, waiting_ = 0, most_ = 0;
  std::jthread acceptor_;
};
