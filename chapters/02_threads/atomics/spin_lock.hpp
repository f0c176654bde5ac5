/// Waiting by looking again and again, and a lock that waits so.
#pragma once

#include <atomic>
#include <thread>

namespace atomics {

/// Tells the processor that this thread spins: it then leaves the pipeline to others and saves power.
inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks at `condition` until it holds. What takes longer than a few microseconds waits for a thread that has lost its
/// core, so from then on this one gives its own core away between two looks.
template <typename Condition>
void spin_until(Condition condition) {
  for (int looks = 0; !condition(); ++looks) {
    if (looks < 100) {
      cpu_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

/// A mutex of one byte, taken by test-and-test-and-set. std::scoped_lock works with it.
class SpinLock {
 public:
  void lock() {
    // acquire: what the last holder wrote before its release is visible from here on, and nothing of the locked part
    // moves up before it. An exchange, since taking is a read and a write in one: two threads must not both see false.
    while (taken_.exchange(true, std::memory_order_acquire)) {
      // relaxed: this load only says when to try again; the exchange that succeeds does the ordering. A load leaves the
      // cache line shared among all who wait, where an exchange would tear it from the holder at each turn.
      spin_until([&] { return !taken_.load(std::memory_order_relaxed); });
    }
  }

  void unlock() {
    // release: the locked part is done before the lock is seen free. A plain store, since only the holder writes now.
    taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> taken_ = false;
};

}  // namespace atomics
