/// Counts the calls of std::this_thread::yield(). To be included by one source of a test program, since it defines a
/// function of the C library.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

/// How often a thread of this program has called std::this_thread::yield().
inline std::atomic<long> yields = 0;

// Takes the place of the C library's function, which std::this_thread::yield() calls.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}
