/// Two locks that wait by looking at the lock again and again: the simplest one, and one that gives its core to other
/// threads if it has to wait long. Both lock like a std::mutex, so std::scoped_lock works with them.
#pragma once

#include <atomic>
#include <thread>

/// The simplest spin lock.
class ExchangeLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
    }
  }

  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_ = false;
};

/// Waits by loads, with a pause after each, and gives its core away when that takes too long.
class SpinLock {
 public:
  void lock() {
    // The exchange reads the old value and stores true in one step. acquire: this thread sees what the last holder did.
    while (taken_.exchange(true, std::memory_order_acquire)) wait_until_free();
  }

  /// Takes the lock if it is free. A std::scoped_lock of several locks needs this.
  bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }

  void unlock() {
    taken_.store(false, std::memory_order_release);  // release: the next holder sees what this one did
  }

 private:
  void wait_until_free() const {
    // relaxed: this only says when it is worth trying again.
    for (int looks = 0; taken_.load(std::memory_order_relaxed); ++looks) {
      if (looks < 100) {
        pause();
      } else {
        std::this_thread::yield();  // the holder may be waiting for the very core that this thread keeps busy
      }
    }
  }

  /// Tells the processor that this thread is only waiting.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");  // the name of ARM's pause; it does not give the core away
#endif
  }

  std::atomic<bool> taken_ = false;
};
