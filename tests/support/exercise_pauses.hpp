/// For programs that the judge of exercises looks at while each thread pauses after each operation of std::atomic, and
/// after each lock that it has given back: so the others come between two steps that have to be one.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>

#include "exercise_probe.hpp"

namespace judge {

/// After each of its first steps a thread (not main) does nothing for a moment.
inline void pause() {
  static thread_local int pauses = 0;
  if (gettid() != getpid() && ++pauses <= 20) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

template <typename Result>
Result paused(Result result) {
  pause();
  return result;
}

}  // namespace judge

extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static auto* const unlock = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
  return judge::paused(unlock(mutex));
}

namespace std {

/// What the program has as std::atomic.
template <typename T>
struct PausingAtomic : atomic<T> {
  using Base = atomic<T>;

  constexpr PausingAtomic(T value = T()) : Base(value) {}

  T load(memory_order order = memory_order_seq_cst) const { return judge::paused(Base::load(order)); }
  operator T() const { return load(); }
  T exchange(T value, memory_order order = memory_order_seq_cst) { return judge::paused(Base::exchange(value, order)); }
  T operator=(T value) { return store(value), value; }
  void store(T value, memory_order order = memory_order_seq_cst) {
    Base::store(value, order);
    judge::pause();
  }

  template <typename... Orders>
  bool compare_exchange_weak(T& seen, T value, Orders... orders) {
    return judge::paused(Base::compare_exchange_weak(seen, value, orders...));
  }
  template <typename... Orders>
  bool compare_exchange_strong(T& seen, T value, Orders... orders) {
    return judge::paused(Base::compare_exchange_strong(seen, value, orders...));
  }

  template <typename... Order>
  T fetch_add(auto value, Order... order) {
    return judge::paused(Base::fetch_add(value, order...));
  }
  template <typename... Order>
  T fetch_sub(auto value, Order... order) {
    return judge::paused(Base::fetch_sub(value, order...));
  }
  T operator++() { return judge::paused(Base::operator++()); }
  T operator--() { return judge::paused(Base::operator--()); }
  T operator++(int) { return judge::paused(Base::operator++(0)); }
  T operator--(int) { return judge::paused(Base::operator--(0)); }
  T operator+=(auto value) { return judge::paused(Base::operator+=(value)); }
  T operator-=(auto value) { return judge::paused(Base::operator-=(value)); }

  void wait(T seen, memory_order order = memory_order_seq_cst) const {
    Base::wait(seen, order);
    judge::pause();
  }
};

}  // namespace std

#define atomic PausingAtomic
#define atomic_int PausingAtomic<int>
