/// The client's side of the task queue: post a task by delay() or apply_async(), and get its result.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "celery.hpp"
#include "connection.hpp"
#include "retry.hpp"

namespace task_queue {

using Seconds = std::chrono::duration<double>;

/// How a task is to be executed: apply_async() takes any of it, delay() takes these defaults.
struct Execution {
  std::string queue = "celery";
  std::optional<Seconds> countdown = {};  ///< not before so long from now
  std::optional<Time> eta = {};           ///< not before this time
  std::optional<Seconds> expires = {};    ///< not after so long from now
  bool ignore_result = false;             ///< nobody keeps the result, as in the source
  RetryPolicy retry = {};                 ///< what to do when the broker is gone
  json::object headers = {};              ///< further headers of the message
};

/// What get() throws if the task failed, or was revoked since it had expired.
struct TaskFailed : TaskError {
  using TaskError::TaskError;
};

/// What get() throws if there is no result yet, or never will be one.
struct NoResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// For one thread, as its connection is.
class Client {
 public:
  /// A limit, lest a client that is faster than its broker fill its memory.
  static constexpr std::size_t max_unconfirmed = 2000;

  explicit Client(Address address) : address_(std::move(address)) {}
  ~Client() {
    try {
      if (connection_) connection_->delete_queue(reply_queue_);
    } catch (const std::runtime_error&) {
      // The broker deletes it itself when nobody has used it for a minute.
    }
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// A task that was posted. Must not outlive its client.
  class Handle {
   public:
    const std::string& id() const { return id_; }

    /// PENDING until something is known, then RETRY, SUCCESS, FAILURE or REVOKED.
    std::string state() {
      look(Seconds(0));
      return result_.status;
    }

    /// Waits for the result. Throws TaskFailed or NoResult.
    json::value get(Seconds timeout = Seconds(30)) {
      if (!kept_) throw NoResult("no result is kept, since the task was posted with ignore_result");
      look(timeout);
      if (!result_.ready()) {
        throw NoResult(fmt::format("no result within {:g} s, the task is {}", timeout.count(), result_.status));
      }
      if (result_.status == "SUCCESS") return result_.value;
      const TaskError error = error_of(result_);
      throw TaskFailed(error.type, error.what(), error.module);
    }

   private:
    friend Client;
    Handle(Client* client, std::string id, bool kept) : client_(client), id_(std::move(id)), kept_(kept) {}
    void look(Seconds timeout) {
      if (kept_ && !result_.ready()) result_ = client_->await_result(id_, timeout);
    }

    Client* client_;
    std::string id_;
    bool kept_;
    Result result_ = {id_, "PENDING"};
  };

  /// The short form, which looks like a call: client.delay("addTask.add", 5, 5).
  template <typename... Args>
  Handle delay(const std::string& task, const Args&... args) {
    return apply_async(task, json::array{json::value(args)...});
  }

  /// The long form. Returns once the broker has the message safe.
  Handle apply_async(const std::string& task, json::array args, json::object kwargs = {}, const Execution& how = {}) {
    Handle handle = post(task, std::move(args), std::move(kwargs), how);
    flush(how.retry);
    return handle;
  }

  /// As apply_async(), but does not wait for the broker, so that many tasks go out in one stream. Then call flush().
  Handle post(const std::string& task, json::array args, json::object kwargs = {}, const Execution& how = {}) {
    Request request = {task, new_id(), std::move(args), std::move(kwargs)};
    const Time now = std::chrono::system_clock::now();
    const auto after = [&](Seconds wait) { return now + std::chrono::duration_cast<Time::duration>(wait); };
    request.eta = how.countdown ? after(*how.countdown) : how.eta;
    if (how.expires) request.expires = after(*how.expires);
    request.ignore_result = how.ignore_result;
    if (!how.ignore_result) request.reply_to = reply_queue_;
    request.headers = how.headers;
    if (!how.ignore_result) waited_for_[request.id] = {request.id, "PENDING"};  // before, as the result may be quick
    post_raw(how.queue, encode(request), how.retry);
    return Handle(this, request.id, !how.ignore_result);
  }

  /// Posts any message, even one that is no task.
  void post_raw(const std::string& queue, Message message, const RetryPolicy& retry = {}) {
    to_send_.push_back({queue, std::move(message)});
    insist(retry, [&] {
      if (unconfirmed_.size() >= max_unconfirmed) await_confirmations(max_unconfirmed / 2);
      send();
    });
  }

  /// Waits until the broker has everything safe that was posted.
  void flush(const RetryPolicy& retry = {}) {
    insist(retry, [&] { await_confirmations(0); });
  }

 private:
  struct Posted {
    std::string queue;
    Message message;
  };

  /// Runs `operation` until it gets through, over a new connection after each that was lost.
  template <typename Operation>
  void insist(const RetryPolicy& retry, Operation operation) {
    for (int failures = 0;; ++failures) {
      try {
        if (!connection_) connect();
        operation();
        return;
      } catch (const Lost& lost) {
        connection_.reset();
        std::this_thread::sleep_for(Seconds(retry.next_pause(failures, lost)));
      }
    }
  }

  /// What an earlier connection took with it unconfirmed is sent again. The broker may have had it, so a task can come
  /// twice; none can be lost.
  void connect() {
    auto fresh = std::make_unique<Connection>(address_);
    fresh->want_confirmations(1);
    // The queue outlives this connection, and the broker if need be, so that results can wait for the next one.
    fresh->declare_queue(reply_queue_, true, false, {{"x-expires", 60'000}});
    fresh->consume(reply_queue_, false);
    for (auto last = unconfirmed_.rbegin(); last != unconfirmed_.rend(); ++last) {
      to_send_.push_front(std::move(last->second));
    }
    unconfirmed_.clear();
    published_ = 0;
    declared_.clear();
    connection_ = std::move(fresh);
  }

  void send() {
    for (; !to_send_.empty(); to_send_.pop_front()) {
      const std::string& queue = to_send_.front().queue;
      if (declared_.insert(queue).second) connection_->declare_task_queue(queue);
      connection_->publish(queue, queue, to_send_.front().message);
      unconfirmed_[++published_] = std::move(to_send_.front());
    }
  }

  void await_confirmations(std::size_t max_left) {
    send();
    while (unconfirmed_.size() > max_left) {
      const auto event = connection_->next(std::chrono::seconds(30));
      if (!event) throw Lost("the broker confirms nothing for 30 s");
      handle(*event);
    }
  }

  /// What is known of a task after `timeout`, or earlier if that is final.
  Result await_result(const std::string& id, Seconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    insist({}, [&] {
      while (!waited_for_[id].ready()) {
        const auto left = std::max(Seconds(0), Seconds(end - std::chrono::steady_clock::now()));
        const auto event = connection_->next(std::chrono::duration_cast<std::chrono::microseconds>(left));
        if (!event) return;
        handle(*event);
      }
    });
    const Result known = waited_for_[id];
    if (known.ready()) waited_for_.erase(id);
    return known;
  }

  void handle(const Event& event) {
    if (const auto* confirmed = std::get_if<Confirmed>(&event)) {
      const auto end = unconfirmed_.upper_bound(confirmed->number);
      unconfirmed_.erase(confirmed->and_all_before ? unconfirmed_.begin() : unconfirmed_.find(confirmed->number), end);
    } else if (const auto* delivery = std::get_if<Delivery>(&event)) {
      try {
        Result result = decode_result(delivery->message);
        const auto task = waited_for_.find(result.task_id);
        if (task != waited_for_.end() && !task->second.ready()) task->second = std::move(result);
      } catch (const Malformed&) {
        // No result of a task: whoever knows the name of the reply queue can put anything into it.
      }
    }
  }

  Address address_;
  std::string reply_queue_ = new_id();
  std::map<std::string, Result> waited_for_;  ///< by task id
  std::deque<Posted> to_send_;
  std::map<std::uint64_t, Posted> unconfirmed_;  ///< by number on this connection
  std::uint64_t published_ = 0;
  std::set<std::string> declared_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace task_queue
