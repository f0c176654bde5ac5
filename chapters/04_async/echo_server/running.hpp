/// For the trials and the comparison: a server in a thread of its own.
#pragma once

#include <thread>
#include <utility>

/// A server that runs in a thread until end() or the end of the block.
template <typename Server>
class Running {
 public:
  template <typename... Arguments>
  explicit Running(Arguments&&... arguments) : server(std::forward<Arguments>(arguments)...) {}
  ~Running() { end(); }

  /// Lets the server end and waits until it has; its counters can be read from then on.
  void end() {
    if (!thread.joinable()) return;
    server.drain();
    thread.join();
  }

  Server server;
  std::jthread thread{[this] { server.run(); }};
};
