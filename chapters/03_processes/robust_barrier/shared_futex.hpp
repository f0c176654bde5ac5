/// Sleeping until a number in shared memory changes: the system call on which locks are built, here between processes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

#include "cookbook/posix.hpp"

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free, "the kernel compares four bytes");

/// Sleeps while `word` is `seen`, at most `limit`, until somebody wakes it. May also return for no reason, so the
/// caller looks again. A process that is killed while it sleeps here leaves no trace.
inline void futex_wait(const FutexWord& word, std::uint32_t seen, std::chrono::nanoseconds limit) {
  if (limit <= std::chrono::nanoseconds::zero()) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec wait = {seconds.count(), (limit - seconds).count()};
  // FUTEX_WAIT_PRIVATE and std::atomic::wait of GCC 12 work within one process only.
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT, seen, &wait, nullptr, 0);
  if (result == -1 && errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT) check(result, "futex");
}

/// Wakes who sleeps in futex_wait() on this word, in whatever process: all of them, or at most `how_many`.
inline void futex_wake(const FutexWord& word, int how_many = INT_MAX) {
  check(syscall(SYS_futex, &word, FUTEX_WAKE, how_many, nullptr, nullptr, 0), "futex");
}
