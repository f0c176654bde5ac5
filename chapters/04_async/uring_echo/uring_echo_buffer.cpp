// Pitfall: a buffer that is used again before the operation is complete
//
// On epoll, send() has copied the bytes when it returns. On io_uring the entry is only prepared: the kernel reads
// the buffer later. Here one buffer serves two messages. By the time the kernel sends the first one, the second
// one stands in its place, so the client receives the second message twice. (Both entries are handed over by one call,
// so that it happens in every run.)
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/uring_echo/uring_echo_buffer.cpp -luring -o uring_echo_buffer
// Run:     uring_echo_buffer
// Symptom: exit 1, prints "received: second, second"

#include <liburing.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

int main() {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 3;
  io_uring ring;
  if (io_uring_queue_init(8, &ring, 0) != 0) {
    std::puts("skipped: the kernel refuses io_uring");
    return 77;
  }
  std::array<char, 8> buffer = {};
  for (const char* message : {"first ", "second"}) {
    std::memcpy(buffer.data(), message, 6);  // wrong: the kernel may not have sent the message before
    io_uring_sqe* entry = io_uring_get_sqe(&ring);
    io_uring_prep_send(entry, ends[0], buffer.data(), 6, 0);
  }
  io_uring_submit_and_wait(&ring, 2);

  std::array<char, 12> received = {};
  for (std::size_t count = 0; count < received.size();) {
    const ssize_t got = read(ends[1], received.data() + count, received.size() - count);
    if (got <= 0) return 3;
    count += static_cast<std::size_t>(got);
  }
  io_uring_queue_exit(&ring);
  const std::string first(received.data(), 6), second(received.data() + 6, 6);
  std::printf("received: %s, %s\n", first.c_str(), second.c_str());
  return first == "first " && second == "second" ? 0 : 1;
}
