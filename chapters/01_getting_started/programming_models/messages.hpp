/// Messages between a process and its workers: what is sent is copied, and nothing else is shared.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

/// One end of a connection between two processes; counts what it sends.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  /// Sends `values` as one message of type `tag`: a head that says what comes, and the values.
  template <typename Value>
  void send(int tag, std::span<const Value> values) {
    const Head head{tag, values.size_bytes()};
    send_bytes(std::as_bytes(std::span(&head, 1)));
    send_bytes(std::as_bytes(values));
    ++messages_;
    bytes_ += static_cast<long>(values.size_bytes());
  }

  /// The tag of the next message, or -1 if the other end is closed. Then comes receive() for what is in it.
  int next() { return receive_bytes(std::as_writable_bytes(std::span(&head_, 1))) ? head_.tag : -1; }

  template <typename Value>
  std::vector<Value> receive() {
    std::vector<Value> values(head_.bytes / sizeof(Value));
    if (!receive_bytes(std::as_writable_bytes(std::span(values)))) cut_short();
    return values;
  }

  void close_end() const { close(socket_); }

  long messages() const { return messages_; }
  long bytes() const { return bytes_; }

 private:
  struct Head {
    int tag;
    std::size_t bytes;
  };

  [[noreturn]] static void cut_short() {
    cookbook::complain("a process ended within a message");
    std::_Exit(3);
  }

  void send_bytes(std::span<const std::byte> rest) const {
    while (!rest.empty()) {
      rest = rest.subspan(
          static_cast<std::size_t>(check(::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL), "send")));
    }
  }

  /// False at end-of-file.
  bool receive_bytes(std::span<std::byte> rest) const {
    const std::size_t wanted = rest.size();
    while (!rest.empty()) {
      const auto count = static_cast<std::size_t>(check(recv(socket_, rest.data(), rest.size(), 0), "recv"));
      if (count == 0 && rest.size() == wanted) return false;
      if (count == 0) cut_short();
      rest = rest.subspan(count);
    }
    return true;
  }

  int socket_;
  Head head_{};
  long messages_ = 0;
  long bytes_ = 0;
};

/// Processes that each run work(channel) with a channel to this one. They end when their channel does.
class Workers {
 public:
  template <typename Work>
  Workers(int count, Work work) {
    for (int i = 0; i < count; ++i) {
      int ends[2];
      check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
      const pid_t worker = check(fork(), "fork");
      if (worker == 0) {
        // The copies of this process's own ends would keep the channels open when it has gone.
        for (const Channel& channel : channels_) channel.close_end();
        close(ends[0]);
        work(Channel(ends[1]));
        _exit(0);
      }
      close(ends[1]);
      channels_.emplace_back(ends[0]);
      processes_.push_back(worker);
    }
  }

  ~Workers() {
    for (const Channel& channel : channels_) channel.close_end();
    for (const pid_t process : processes_) waitpid(process, nullptr, 0);
  }

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::vector<Channel>& channels() { return channels_; }

  long messages() const {
    long sum = 0;
    for (const Channel& channel : channels_) sum += channel.messages();
    return sum;
  }

  long bytes() const {
    long sum = 0;
    for (const Channel& channel : channels_) sum += channel.bytes();
    return sum;
  }

 private:
  std::vector<Channel> channels_;
  std::vector<pid_t> processes_;
};
