/// The queues of io_uring as a class, which counts its system calls.
#pragma once

#include <liburing.h>

#include <cerrno>
#include <system_error>

/// The two queues that a program shares with the kernel. Throws std::system_error if the kernel refuses them.
class Ring {
 public:
  explicit Ring(unsigned flags = 0) {
    if (const int error = io_uring_queue_init(256, &ring_, flags)) {
      throw std::system_error(-error, std::generic_category(), "io_uring_queue_init");
    }
  }
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// A free entry of the submission queue. If it is full, what is in it is submitted first.
  io_uring_sqe* entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    while (entry == nullptr) {
      submit(0);
      entry = io_uring_get_sqe(&ring_);
    }
    return entry;
  }

  /// Hands the new entries to the kernel, and waits until so many operations are complete: one system call for both.
  void submit(unsigned wait_for) {
    ++system_calls;
    const int submitted = io_uring_submit_and_wait(&ring_, wait_for);
    if (submitted < 0 && submitted != -EINTR) {
      throw std::system_error(-submitted, std::generic_category(), "io_uring_submit_and_wait");
    }
    if (submitted > 0) operations += submitted;
  }

  /// Calls handle(socket, result) for each operation that is complete.
  template <typename Handle>
  void for_each_completion(Handle handle) {
    unsigned head = 0, seen = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&ring_, head, completion) {
      ++seen;
      handle(static_cast<int>(io_uring_cqe_get_data64(completion)), completion->res);
    }
    io_uring_cq_advance(&ring_, seen);
  }

  long system_calls = 0;
  long operations = 0;  // that were handed over by these calls

 private:
  io_uring ring_ = {};
};
