/// When a worker may acknowledge the messages of its tasks.
///
/// The broker deletes a message that is acknowledged, and delivers it again if the worker dies before. So a worker that
/// is to lose no task waits until two things are true. First, it has published the message that takes the task's
/// place: the result, or the next task. Second, the broker has confirmed that it has this message. If the worker dies
/// earlier, the task is executed a second time.
///
/// A message is acknowledged by its tag: the broker numbers the messages that it delivers 1, 2, 3 and so on. One
/// acknowledgement can be for all messages up to a tag. Tasks end in any order, so it may only be used up to the first
/// task that is not done; tasks that are done behind that one are acknowledged one by one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "amqp.hpp"

namespace celery {

class Acknowledgements {
 public:
  /// The broker has delivered a task's message with this tag. Tags come in ascending order.
  void received(std::uint64_t tag) { replacements_[tag] = std::nullopt; }

  /// The task is done, and the message with this number takes its place; 0: it needs no message.
  void replaced(std::uint64_t tag, std::uint64_t number) { replacements_[tag] = number; }

  /// The message was given back to the broker.
  void given_back(std::uint64_t tag) { replacements_.erase(tag); }

  /// Acknowledges all that may be acknowledged now. `broker` is an amqp::Connection, or stands for one in a test.
  template <typename Broker>
  void send(Broker& broker) {
    std::uint64_t up_to = 0;
    for (auto task = replacements_.begin(); task != replacements_.end();) {
      const auto& [tag, number] = *task;
      const bool confirmed = number && (*number == 0 || broker.is_confirmed(*number));
      if (!confirmed) {
        ++task;
        continue;
      }
      if (task == replacements_.begin())  // all tasks before this one are done
        up_to = tag;
      else
        broker.acknowledge(tag, amqp::Acknowledged::this_one);
      task = replacements_.erase(task);
    }
    if (up_to != 0) broker.acknowledge(up_to, amqp::Acknowledged::up_to_this_one);
  }

  /// For a new connection: its tags begin with 1 again, and the broker delivers again what was not acknowledged.
  void clear() { replacements_.clear(); }

 private:
  /// Of each task that is not acknowledged: the tag of its message, and the number of the message that takes its place;
  /// no number while the task is not done.
  std::map<std::uint64_t, std::optional<std::uint64_t>> replacements_;
};

}  // namespace celery
