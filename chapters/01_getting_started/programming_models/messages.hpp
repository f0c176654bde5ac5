/// Messages between two processes through a socket: what is sent is copied. check() ends the program if a system call
/// has failed.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdlib>

#include "cookbook/posix.hpp"

/// The bytes that this thread has sent and received.
inline thread_local std::size_t bytes_moved = 0;

/// Ends the program with exit code 3 if not all bytes were sent or received: the other process has ended. (A signal
/// handler could cut a call short, too; there is none here.)
inline void require_all(ssize_t done, std::size_t bytes) {
  if (done == static_cast<ssize_t>(bytes)) return;
  cookbook::print_error("the other process has ended before its message was complete");
  std::_Exit(3);
}

/// Sends `count` values; waits while the socket is full. MSG_NOSIGNAL: if the other process has ended, that is an
/// error, and not a signal that ends this process.
template <typename Value>
void send_values(int socket, const Value* values, std::size_t count) {
  const std::size_t bytes = count * sizeof(Value);
  bytes_moved += bytes;
  if (bytes > 0) require_all(check(send(socket, values, bytes, MSG_NOSIGNAL), "send"), bytes);
}

/// Waits until `count` values have come. MSG_WAITALL: waits for all, not just for the first.
template <typename Value>
void receive_values(int socket, Value* values, std::size_t count) {
  const std::size_t bytes = count * sizeof(Value);
  bytes_moved += bytes;
  if (bytes > 0) require_all(check(recv(socket, values, bytes, MSG_WAITALL), "recv"), bytes);
}
