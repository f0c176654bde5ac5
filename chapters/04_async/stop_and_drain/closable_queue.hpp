/// A queue between threads that can be closed: then those who wait are woken, and what nobody has taken is handed back.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

template <typename Item>
class ClosableQueue {
 public:
  /// Puts an item in. Returns false, and takes nothing, if the queue is closed.
  bool push(Item item) {
    {
      std::scoped_lock lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
    return true;
  }

  /// Waits for an item, and takes it; nothing if the queue is closed.
  std::optional<Item> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (closed_) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  /// Closes it, and returns what nobody has taken; nothing if it was closed already.
  std::deque<Item> close() {
    std::deque<Item> left;
    {
      std::scoped_lock lock(mutex_);
      closed_ = true;
      left.swap(items_);
    }
    changed_.notify_all();
    return left;
  }

 private:
  std::mutex mutex_;  // for items_ and closed_
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool closed_ = false;
};
