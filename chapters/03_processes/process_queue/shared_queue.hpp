/// A bounded first-in, first-out queue between processes.
#pragma once

#include <boost/interprocess/sync/interprocess_condition.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/scoped_lock.hpp>
#include <cstddef>
#include <stdexcept>
#include <type_traits>

/// For shared memory, and any number of producers and consumers: a ring of items behind a mutex, with one condition
/// variable for each event that a process may wait for.
template <typename T, std::size_t capacity>
class SharedQueue {
  static_assert(std::is_trivially_copyable_v<T>, "only the bytes of an item reach the other process");

 public:
  /// Appends an item; waits while the queue is full.
  void put(const T& item) {
    Lock lock(mutex_);
    not_full_.wait(lock, [&] { return size_ < capacity; });
    items_[(first_ + size_) % capacity] = item;
    ++size_;
    ++unfinished_;
    not_empty_.notify_one();
  }

  /// Removes and returns the oldest item; waits while the queue is empty.
  T get() {
    Lock lock(mutex_);
    not_empty_.wait(lock, [&] { return size_ > 0; });
    const T item = items_[first_];
    first_ = (first_ + 1) % capacity;
    --size_;
    not_full_.notify_one();
    return item;
  }

  /// Reports that an item taken earlier has been processed. Throws std::logic_error if none is outstanding.
  void task_done() {
    Lock lock(mutex_);
    if (unfinished_ == size_) throw std::logic_error("SharedQueue: more calls of task_done() than items taken");
    if (--unfinished_ == 0) all_done_.notify_all();
  }

  /// Waits until task_done() has been called for every item that was put.
  void join() {
    Lock lock(mutex_);
    all_done_.wait(lock, [&] { return unfinished_ == 0; });
  }

  /// The number of items in the queue. It may have changed by the time that the caller uses it.
  std::size_t size() {
    Lock lock(mutex_);
    return size_;
  }

 private:
  using Lock = boost::interprocess::scoped_lock<boost::interprocess::interprocess_mutex>;

  boost::interprocess::interprocess_mutex mutex_;  // protects everything below
  boost::interprocess::interprocess_condition not_full_, not_empty_, all_done_;
  std::size_t first_ = 0, size_ = 0;  // the place of the oldest item, and how many items there are
  std::size_t unfinished_ = 0;        // items put, but not yet reported by task_done()
  T items_[capacity];
};
