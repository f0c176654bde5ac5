/// Three experiments: what a condition variable does not do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace surprises {

using namespace std::chrono_literals;

/// Whether a notification that comes before the wait ends the wait.
inline bool is_remembered() {
  std::mutex guard;
  std::condition_variable changed;
  std::unique_lock hold(guard);
  for (int i = 0; i < 10; ++i) {
    changed.notify_one();
    if (changed.wait_for(hold, 1ms) == std::cv_status::timeout) return false;  // else perhaps woken for nothing: again
  }
  return true;
}

/// Whether a waiter with a condition waits on when it is woken although nothing has changed.
inline bool waits_on() {
  std::mutex guard;
  std::condition_variable changed, looked;
  bool ready = false, gone_on = false;
  int looks = 0;
  std::jthread waiter([&] {
    std::unique_lock hold(guard);
    changed.wait(hold, [&] {
      ++looks;
      looked.notify_one();
      return ready;
    });
    gone_on = true;
    looked.notify_one();
  });
  std::unique_lock hold(guard);
  looked.wait(hold, [&] { return looks >= 1; });  // it keeps the lock from its look to its wait, so it waits now
  changed.notify_one();
  looked.wait(hold, [&] { return looks >= 2 || gone_on; });
  const bool still_waits = !gone_on;
  ready = true;
  changed.notify_one();
  return still_waits;
}

/// A recursive mutex; its unlock() tries from another thread whether it is free then.
struct Watched {
  std::recursive_mutex mutex;
  bool free = false;

  void lock() { mutex.lock(); }
  void unlock() {
    mutex.unlock();
    std::jthread([&] {
      free = mutex.try_lock();
      if (free) mutex.unlock();
    }).join();
  }
};

/// Whether others can take a lock during a wait on it, if the waiter has taken it `times` times.
inline bool is_free_during_wait(int times) {
  Watched watched;
  std::condition_variable_any changed;
  for (int i = 0; i < times; ++i) watched.lock();
  changed.wait_for(watched, 1ms);  // nobody notifies; calls unlock(), waits, calls lock()
  const bool free = watched.free;
  for (int i = 0; i < times; ++i) watched.unlock();
  return free;
}

}  // namespace surprises
