/// What asks workers of Celery, as `celery inspect` and `celery control` do, and what listens to them, as a monitor
/// does.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "celery/message.hpp"
#include "cookbook/measure.hpp"

namespace celery {

/// Asks the workers of a broker. The exchange celery.pidbox copies a question into a queue of each worker. The question
/// names an exchange and a key, by which the answers come back.
class Inspector {
 public:
  struct Answer {
    json::value value;
    double ms;  ///< after the question
  };
  using Answers = std::map<std::string, Answer>;  ///< by the name of the worker

  Inspector(const std::string& url, std::chrono::milliseconds timeout) : url_(url), broker_(url), timeout_(timeout) {
    broker_.declare_exchange("celery.pidbox", "fanout", /*durable=*/false);
    broker_.declare_exchange("reply.celery.pidbox", "direct", /*durable=*/false);
    answers_ = broker_.declare_queue("", {.exclusive = true});
    broker_.bind(answers_, "reply.celery.pidbox", answers_);
    broker_.consume(answers_, amqp::Acknowledgement::automatic);
  }

  /// Whether the broker still has the worker's queue for questions, which it deletes when the worker's connection ends.
  bool is_connected(const std::string& worker) const {
    amqp::Connection broker(url_);  // for this question alone: a channel ends with the broker's refusal
    try {
      broker.waiting(worker + ".celery.pidbox");  // declares the queue "passively": the broker makes none
    } catch (const amqp::Error& refusal) {
      if (refusal.code == AMQP_NOT_FOUND) return false;
      if (refusal.code != AMQP_RESOURCE_LOCKED) throw;  // locked: it is there, and only its worker may use it
    }
    return true;
  }

  /// Asks all workers, and collects answers until the timeout is over, since nobody knows how many there are.
  Answers ask(const std::string& method) { return collect(method, {}, {}, timeout_); }

  /// Asks these workers, and waits until each has answered. Throws amqp::Error if one does not within 20 s.
  Answers ask(const std::string& method, const std::vector<std::string>& workers, const json::object& arguments = {}) {
    Answers answers = collect(method, workers, arguments, std::chrono::seconds(20));
    if (answers.size() < workers.size()) throw amqp::Error("not all workers answer the question " + method);
    return answers;
  }

  Answers late;  ///< came when their question was no longer waited for

 private:
  Answers collect(const std::string& method, const std::vector<std::string>& workers, const json::object& arguments,
                  std::chrono::milliseconds timeout) {
    const std::string ticket = new_id();
    const json::object reply_to = {{"exchange", "reply.celery.pidbox"}, {"routing_key", answers_}};
    json::object question = {{"method", method}, {"arguments", arguments}, {"reply_to", reply_to}, {"ticket", ticket}};
    if (!workers.empty()) question["destination"] = json::value_from(workers);
    asked_[ticket] = {};
    broker_.publish("celery.pidbox", "",
                    {.body = json::serialize(question), .content_type = "application/json", .persistent = false});

    const auto end = std::chrono::steady_clock::now() + timeout;
    Answers answers;
    while (workers.empty() || answers.size() < workers.size()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      const auto message = broker_.next(left);
      if (!message) break;
      const json::value of = member(headers_of(*message), "ticket");
      const auto asked = asked_.find(of.is_string() ? of.get_string() : "");
      if (asked == asked_.end()) continue;                               // nobody has asked this
      Answers& belongs_to = of == json::value(ticket) ? answers : late;  // late: of an earlier question
      const json::value answer = parsed_body(*message);                  // {"pool@here": value}
      for (const auto& [worker, value] : answer.as_object()) {
        belongs_to[worker] = {value, 1e3 * asked->second.seconds()};
      }
    }
    return answers;
  }

  const std::string url_;
  amqp::Connection broker_;
  std::chrono::milliseconds timeout_;
  std::string answers_;
  std::map<std::string, cookbook::Stopwatch, std::less<>> asked_;  // since when, by the tickets
};

/// Gets a copy of all events, as a monitor does.
class Listener {
 public:
  explicit Listener(const std::string& url) : broker_(url) {
    broker_.declare_exchange("celeryev", "topic", /*durable=*/true);
    const std::string events = broker_.declare_queue("", {.exclusive = true});
    broker_.bind(events, "celeryev", "#");  // # stands for every key, such as task.started
    broker_.consume(events, amqp::Acknowledgement::automatic);
  }

  /// Waits until there has been an event of this type about a task, by its id, or a worker, by its name. Throws
  /// amqp::Error if it has not come within 20 s, whatever else comes meanwhile.
  void wait_for(const std::string& type, const std::string& about) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::find(events_.begin(), events_.end(), Event(type, about)) == events_.end()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      const auto message = left.count() > 0 ? broker_.next(left) : std::nullopt;
      if (!message) throw amqp::Error("no event " + type);
      const json::value event = parsed_body(*message);
      const json::value& task = member(event, "uuid");
      events_.emplace_back(event.at("type").as_string(), (task.is_null() ? event.at("hostname") : task).as_string());
    }
  }

 private:
  using Event = std::pair<std::string, std::string>;

  amqp::Connection broker_;
  std::vector<Event> events_;
};

}  // namespace celery
