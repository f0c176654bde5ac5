/// Which calls have been made, and by which threads: for the output of map_three_ways alone. A function that is to be
/// mapped should change nothing.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

/// The calls since the last reset().
class Calls {
 public:
  static constexpr long few = 20;

  /// Called by the thread that computes the result of `item`.
  void note(long item) {
    const std::scoped_lock lock(mutex_);
    if (++number_ <= few) callers_[item] = std::this_thread::get_id();
    threads_.insert(std::this_thread::get_id());
  }
  void reset() { number_ = 0, threads_.clear(), callers_.clear(); }
  long number() const { return number_; }
  std::size_t threads() const { return threads_.size(); }

  /// A letter per element, from the smallest to the largest: the thread of its last call. Nothing after many calls.
  std::string letters() const {
    std::string text;
    std::vector<std::thread::id> seen;
    for (const auto& [item, caller] : callers_) {
      const auto found = std::find(seen.begin(), seen.end(), caller);
      text += static_cast<char>('A' + (found - seen.begin()));
      if (found == seen.end()) seen.push_back(caller);
    }
    return number_ <= few ? text : "";
  }

 private:
  std::mutex mutex_;
  long number_ = 0;
  std::set<std::thread::id> threads_;
  std::map<long, std::thread::id> callers_;  // of each element
};
