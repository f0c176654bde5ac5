/// A client for workers of Celery: posts tasks by delay() or apply_async(), and gets their results.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "celery/message.hpp"

namespace celery {

/// How a task is to be executed.
struct Execution {
  std::string queue = "celery";
  std::optional<double> countdown = {};   ///< seconds before it may start
  std::optional<double> expires = {};     ///< seconds after which it is not started any more
  std::optional<double> time_limit = {};  ///< seconds that it may run
  bool ignore_result = false;             ///< no result is sent
};

/// What get() throws if the task has failed, or was revoked.
struct TaskFailed : TaskError {
  using TaskError::TaskError;
};

/// What get() throws if there is no result yet, or never will be one.
struct NoResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// For one thread. Every call may throw amqp::Error.
class Client {
 public:
  /// Connects, and declares Celery's default queue, so that tasks can wait in it before a worker has ever been there.
  explicit Client(const std::string& url) : broker_(url) {
    declare_task_queue(broker_, "celery");
    results_queue_ = broker_.declare_queue("", {.durable = false, .exclusive = true});
    broker_.consume(results_queue_, amqp::Acknowledgement::automatic);
  }

  /// A task that was posted. It can be copied, and must not outlive its client.
  class Handle {
   public:
    const std::string& id() const { return id_; }

    /// PENDING until something is known, then RETRY, SUCCESS, FAILURE or REVOKED.
    std::string state() { return known(std::chrono::milliseconds(0)).status; }

    /// Waits for the result. Throws TaskFailed or NoResult.
    json::value get(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
      const Result& result = known(timeout);
      if (!result.ready()) throw NoResult("no result in time, the task is " + result.status);
      if (result.status == "SUCCESS") return result.value;
      const TaskError error = error_of(result);
      throw TaskFailed(error.type, error.what(), error.module);
    }

   private:
    friend Client;
    Handle(Client* client, std::string id, bool ignored) : client_(client), id_(std::move(id)), ignored_(ignored) {}

    const Result& known(std::chrono::milliseconds timeout) {
      if (ignored_) throw NoResult("no result is kept, since the task was posted with ignore_result");
      return client_->await(id_, timeout);
    }

    Client* client_;
    std::string id_;
    bool ignored_;
  };

  /// The short form, which looks like a call: client.delay("addTask.add", 5, 5).
  template <typename... Args>
  Handle delay(const std::string& task, const Args&... args) {
    return apply_async(task, json::array{json::value(args)...});
  }

  /// The long form. Returns when the broker has confirmed that it keeps the task. Throws amqp::Unroutable if there is
  /// no such queue.
  Handle apply_async(const std::string& task, json::array args, json::object kwargs = {}, const Execution& how = {}) {
    const Handle handle = post(task, std::move(args), std::move(kwargs), how);
    broker_.confirm();
    return handle;
  }

  /// The same without waiting, for many tasks; then call confirm().
  Handle post(const std::string& name, json::array args, json::object kwargs = {}, const Execution& how = {}) {
    Task task = {name, new_id(), std::move(args), std::move(kwargs)};
    if (how.countdown) task.eta = after(*how.countdown);
    if (how.expires) task.expires = after(*how.expires);
    task.time_limit = how.time_limit;
    task.ignore_result = how.ignore_result;
    if (!how.ignore_result) task.reply_to = results_queue_;
    publish(broker_, how.queue, task, amqp::Unrouted::error);
    if (!how.ignore_result) results_[task.id] = {"PENDING"};
    return Handle(this, task.id, how.ignore_result);
  }
  void confirm() { broker_.confirm(); }

  /// Asks all workers to cancel a task, and to kill it if it runs. Does not wait: its result says whether one did.
  void revoke(const Handle& task) {
    const json::object question = {{"method", "revoke"},
                                   {"arguments", json::object{{"task_id", task.id()}, {"terminate", true}}}};
    broker_.declare_exchange("celery.pidbox", "fanout", /*durable=*/false);  // each worker gets a copy
    broker_.publish("celery.pidbox", "",
                    {.body = json::serialize(question), .content_type = "application/json", .persistent = false});
    broker_.confirm();
  }

  struct Call {
    std::string task;
    json::array args;
  };

  /// Posts a chain: each task after the first gets the result of the one before as its first argument. The message of
  /// the first task has the others, the next one last. Returns the last task.
  Handle chain(const std::vector<Call>& calls) {
    Task first = {calls.at(0).task, new_id(), calls[0].args};
    first.reply_to = results_queue_;
    const std::string last = calls.size() > 1 ? new_id() : first.id;
    for (std::size_t i = calls.size() - 1; i > 0; --i) {
      const json::object options = {{"task_id", first.chain.empty() ? last : new_id()}, {"reply_to", results_queue_}};
      first.chain.push_back(json::object{{"task", calls[i].task},
                                         {"args", calls[i].args},
                                         {"kwargs", json::object()},
                                         {"options", options},
                                         {"subtask_type", nullptr},
                                         {"immutable", false}});
    }
    publish(broker_, "celery", first, amqp::Unrouted::error);
    results_[last] = {"PENDING"};
    broker_.confirm();
    return Handle(this, last, false);
  }

 private:
  /// What is known of a task after `timeout`, or earlier if that is final.
  const Result& await(const std::string& id, std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!results_.at(id).ready()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      const auto message = broker_.next(std::max(left, std::chrono::milliseconds(0)));
      if (!message) break;
      const auto task = results_.find(message->correlation_id);
      if (task == results_.end() || task->second.ready()) continue;
      try {
        task->second = read_result(*message);
      } catch (const Malformed& malformed) {  // such as a whole number beyond 64 bits, which Python can send
        task->second = failure({"DecodeError", malformed.what(), "kombu.exceptions"});
      }
    }
    return results_.at(id);
  }

  amqp::Connection broker_;
  std::string results_queue_;
  std::map<std::string, Result> results_;  ///< by task
};

/// What became of a task, as text: "10", or "ZeroDivisionError: division by zero". Waits for it.
inline std::string outcome(Client::Handle task) {
  try {
    return shown(task.get());
  } catch (const TaskFailed& failed) {
    return failed.type + ": " + failed.what();
  }
}

}  // namespace celery
