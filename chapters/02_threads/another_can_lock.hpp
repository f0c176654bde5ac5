/// Asking whether a lock is free.
#pragma once

#include <thread>

/// Whether a thread other than the caller can lock the mutex now; if so, it unlocks it again. (The one that holds a
/// std::mutex must not even try. C++ lets try_lock() fail even if the mutex is free; on Linux it does not.)
template <typename Mutex>
bool another_can_lock(Mutex& mutex) {
  bool locked = false;
  std::jthread([&] {
    locked = mutex.try_lock();
    if (locked) mutex.unlock();
  }).join();
  return locked;
}
