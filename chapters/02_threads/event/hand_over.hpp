/// The list, the producer and the consumer that all ways to announce an item share.
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

/// The list that producer and consumer share.
class List {
 public:
  void append(int item) {
    std::scoped_lock hold(guard_);
    items_.push_back(item);
  }

  /// The newest item, as the source takes it; none if the list is empty.
  std::optional<int> pop() {
    std::scoped_lock hold(guard_);
    if (items_.empty()) return std::nullopt;
    const int item = items_.back();
    items_.pop_back();
    return item;
  }

 private:
  std::mutex guard_;
  std::vector<int> items_;
};

struct Outcome {
  std::vector<int> consumed, left;
};

/// Appends the items, each followed by announce(), while consume(list, consumed, stop) runs in another thread. Then
/// asks that thread to stop and sees what is left.
template <typename Announce, typename Consume>
Outcome hand_over(const std::vector<int>& items, Announce announce, Consume consume) {
  List list;
  Outcome outcome;
  std::stop_source stop;
  std::jthread consumer([&] { consume(list, outcome.consumed, stop.get_token()); });
  for (const int item : items) {
    list.append(item);
    announce();
  }
  stop.request_stop();
  consumer.join();
  while (const auto item = list.pop()) outcome.left.push_back(*item);
  return outcome;
}
