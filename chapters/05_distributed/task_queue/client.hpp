/// The client's side of the task queue.
#pragma once

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>

#include "amqp.hpp"

class Client {
 public:
  explicit Client(const std::string& url)
      : connection_(url), answers_(connection_.declare_queue("", {.exclusive = true})) {
    connection_.consume(answers_, amqp::Acknowledgement::automatic);
  }

  /// Posts a task to a queue, and returns the task's id when the broker has confirmed that it keeps the task. Throws
  /// amqp::Unroutable if there is no such queue.
  std::string post(const std::string& task, const std::string& queue = "tasks") {
    const std::string id = "task " + std::to_string(++posted_);
    // The exchange with the empty name puts a message into the queue named by the key.
    connection_.publish("", queue, {.body = task, .reply_to = answers_, .correlation_id = id}, amqp::Unrouted::error);
    connection_.confirm();
    return id;
  }

  /// Waits for the answer to a task. Throws std::runtime_error if it does not come in time.
  std::string result(const std::string& id, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!results_.contains(id)) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) throw std::runtime_error("no result of " + id + " in time");
      if (const auto answer = connection_.next(left)) results_.emplace(answer->correlation_id, answer->body);
    }
    return results_.at(id);
  }

 private:
  amqp::Connection connection_;
  std::string answers_;  ///< the name of a queue that is deleted with this connection
  std::map<std::string, std::string> results_;
  long posted_ = 0;
};
