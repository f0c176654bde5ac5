/// Late acknowledgement: a message is acknowledged when its task is done, or when another message that takes its place
/// is safe with the broker. Until then it is the broker's, which gives it to another worker if this one dies.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "connection.hpp"

namespace task_queue {

/// The deliveries of one connection.
class Acknowledgements {
 public:
  static constexpr amqp_channel_t moving = 2;  ///< the channel for messages that take the place of others

  void prepare(Connection& connection) {
    connection.open_channel(moving);
    connection.want_confirmations(moving);
  }

  void delivered(std::uint64_t tag) { to_do_.insert(tag); }
  void done(std::uint64_t tag) { done_.push_back(tag); }

  /// Publishes a message in the place of a delivered one.
  void move(Connection& connection, std::uint64_t tag, const std::string& queue, const Message& message) {
    connection.publish(queue, queue, message, moving);
    moved_[++published_] = tag;
  }

  /// The broker has messages safe that were moved.
  void confirmed(const Confirmed& confirmed) {
    const auto first = confirmed.and_all_before ? moved_.begin() : moved_.lower_bound(confirmed.number);
    const auto last = moved_.upper_bound(confirmed.number);
    for (auto safe = first; safe != last; ++safe) done(safe->second);
    moved_.erase(first, last);
  }

  bool any_moving() const { return !moved_.empty(); }

  /// Tells the broker what is done. One acknowledgement can speak for all messages before it, which is cheaper; but it
  /// must not speak for one that is still to do, so it goes up to the first of those only.
  void send(Connection& connection) {
    for (const std::uint64_t tag : done_) to_do_.erase(tag);
    std::uint64_t up_to = 0;
    for (const std::uint64_t tag : done_) {
      if (to_do_.empty() || tag < *to_do_.begin()) {
        up_to = std::max(up_to, tag);
      } else {
        connection.acknowledge(tag, false);
      }
    }
    if (up_to != 0) connection.acknowledge(up_to, true);
    done_.clear();
  }

 private:
  std::set<std::uint64_t> to_do_;
  std::vector<std::uint64_t> done_;
  std::map<std::uint64_t, std::uint64_t> moved_;  ///< number of the new message, tag of the old one
  std::uint64_t published_ = 0;
};

}  // namespace task_queue
