/// A map in shared memory: one copy, on which all processes work.
#pragma once

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/containers/map.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/offset_ptr.hpp>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "cookbook/posix.hpp"
#include "robust_mutex.hpp"

/// A map that lives, nodes and all, in its own 64 KiB; to be made as Shared<SharedMap>.
///
/// After a process that ends while it reads, the map is used as before. After one that ends within a change, every call
/// throws std::runtime_error, since the map may be half changed.
class SharedMap {
 public:
  SharedMap() {
    boost::interprocess::managed_external_buffer heap(boost::interprocess::create_only, memory_, sizeof memory_);
    values_ = heap.construct<Map>("values")(heap.get_segment_manager());
    init_robust(mutex_);
  }

  /// Calls work with the value itself, which is 0 if there was none. The lock is held meanwhile, so whatever work does
  /// to the value is one step for all others. If work throws, the value is as it was before; what else work has changed
  /// stays changed. It must not use the map itself: it would wait for its own lock. Throws
  /// boost::interprocess::bad_alloc if there is no room for another key.
  template <typename Work>
  void change(long key, Work work) {
    const std::scoped_lock lock(*this);
    changing_.exchange(true);  // no store, since the compiler may move what follows to before a store
    const auto [place, is_new] = values_->try_emplace(key, 0);
    const long before = place->second;
    try {
      work(place->second);
    } catch (...) {  // the exception ends the change, so it must not stay half made
      place->second = before;
      if (is_new) values_->erase(place);
      throw;
    }
  }
  void set(long key, long value) {
    change(key, [&](long& place) { place = value; });
  }

  /// Calls work with the value, to be read. Throws std::out_of_range if there is no such key.
  template <typename Work>
  void look(long key, Work work) {
    const std::scoped_lock lock(*this);
    const auto found = values_->find(key);
    if (found == values_->end()) throw std::out_of_range(fmt::format("the map has no key {}", key));
    work(std::as_const(found->second));
  }
  long get(long key) {
    long copy = 0;
    look(key, [&](const long& value) { copy = value; });
    return copy;
  }

  std::map<long, long> items() {
    const std::scoped_lock lock(*this);
    return {values_->begin(), values_->end()};
  }

  void lock() {
    const int error = pthread_mutex_lock(&mutex_);
    if (error == EOWNERDEAD && !changing_) {  // the dead process was only reading
      return check_error(pthread_mutex_consistent(&mutex_), "pthread_mutex_consistent");
    }
    if (error == EOWNERDEAD) pthread_mutex_unlock(&mutex_);  // not made consistent: now all get ENOTRECOVERABLE
    if (error == EOWNERDEAD || error == ENOTRECOVERABLE) throw std::runtime_error("a process died within a change");
    check_error(error, "pthread_mutex_lock");
  }
  void unlock() {
    changing_ = false;  // before the next process can get the lock, and make a note of its own
    check_error(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock");
  }

 private:
  using Heap = boost::interprocess::managed_external_buffer::segment_manager;
  using Map = boost::interprocess::map<long, long, std::less<long>,
                                       boost::interprocess::allocator<std::pair<const long, long>, Heap>>;

  alignas(64) std::byte memory_[64 << 10];
  boost::interprocess::offset_ptr<Map> values_;  // in memory_
  pthread_mutex_t mutex_;
  std::atomic<bool> changing_ = false;  // by the process that holds the mutex
};
