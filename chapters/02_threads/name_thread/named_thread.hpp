/// Threads that have a name, which the system knows.
#pragma once

#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

/// Names the calling thread. Throws std::system_error if the name has more than 15 bytes.
inline void set_thread_name(const std::string& name) {
  const int error = pthread_setname_np(pthread_self(), name.c_str());
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_setname_np " + name);
}

/// The name of the calling thread.
inline std::string thread_name() {
  char name[16];  // 15 bytes and the zero at the end
  const int error = pthread_getname_np(pthread_self(), name, sizeof name);
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_getname_np");
  return name;
}

/// Another name at each call: Thread-1, Thread-2 and so on.
inline std::string default_thread_name() {
  static std::atomic<int> count = 0;
  return "Thread-" + std::to_string(++count);
}

/// Starts a thread that runs `work()` under the given name. Throws std::invalid_argument, and starts no thread, if the
/// name has more than 15 bytes.
template <typename Work>
std::jthread start_thread(Work work, std::string name = default_thread_name()) {
  if (name.size() > 15) throw std::invalid_argument("the thread's name has more than 15 bytes: " + name);
  return std::jthread([work = std::move(work), name = std::move(name)]() mutable {
    set_thread_name(name);
    work();
  });
}
