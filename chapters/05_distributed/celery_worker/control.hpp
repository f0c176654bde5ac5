/// What people ask a worker beside its tasks: `celery inspect`, `celery control`, and the events that monitors read.
///
/// Questions come by publish and subscribe: the exchange celery.pidbox copies each into a queue per worker. Events go
/// to the exchange celeryev, from where every monitor that listens gets a copy.
#pragma once

#include <fnmatch.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "cookbook/print.hpp"
#include "protocol.hpp"

namespace celery {

class Control {
 public:
  /// Gets the question's arguments, an object.
  using Method = std::function<json::value(const json::value&)>;

  Control(std::string node, std::map<std::string, Method> methods)
      : node_(std::move(node)), methods_(std::move(methods)) {}

  const std::string& queue() const { return queue_; }

  /// Throws amqp::Error if another worker has this name.
  void listen(amqp::Connection& broker) {
    broker.declare_exchange(questions, "fanout", false);
    broker.declare_exchange(answers, "direct", false);
    broker.declare_exchange(events, "topic", true);
    broker.declare_queue(queue_, {.durable = false, .exclusive = true});
    broker.bind(queue_, questions, "");
    broker.consume(queue_, amqp::Acknowledgement::automatic);
  }

  /// Answers a question, with an error if it is about something that this worker cannot do. What is no question is
  /// reported and ignored: no message can stop the worker.
  void answer(amqp::Connection& broker, const amqp::Message& message) {
    try {
      const json::value question = parsed_body(message);
      if (!is_for_this_node(question)) return;
      const std::string method = read_name(member(question, "method"), "method");
      const auto known = methods_.find(method);
      json::value value = json::object{{"error", method + " is not implemented by this worker"}};
      if (known != methods_.end()) value = known->second(member(question, "arguments"));
      const json::value& reply_to = member(question, "reply_to");
      if (known == methods_.end()) cookbook::complain(method + " is not implemented by this worker");
      if (reply_to.is_null()) return;
      const std::string key = read_name(member(reply_to, "routing_key"), "routing_key");
      if (member(reply_to, "exchange") != json::value(answers)) throw Malformed("'exchange' is another one");
      send(broker, answers, key, json::object{{node_, std::move(value)}},
           {{"ticket", member(question, "ticket")}, {"clock", ++clock_}});
    } catch (const std::exception& error) {
      cookbook::complain(std::string("question ignored: ") + error.what());
    }
  }

  bool task_events = false;  ///< wanted by a monitor

  /// Tells the monitors of something, such as "worker-online".
  void tell(amqp::Connection& broker, std::string type, json::object event = {}) {
    event["type"] = type;
    event["hostname"] = node_;
    event["timestamp"] = timestamp();
    event["utcoffset"] = 0;
    event["pid"] = getpid();
    event["clock"] = ++clock_;
    std::replace(type.begin(), type.end(), '-', '.');
    send(broker, events, type, event, {{"hostname", node_}});
  }

  void tell_of_task(amqp::Connection& broker, const std::string& type, const std::string& id, json::object event = {}) {
    if (!task_events) return;
    event["uuid"] = id;
    tell(broker, type, std::move(event));
  }

  std::int64_t clock() const { return clock_; }

 private:
  static constexpr const char *questions = "celery.pidbox", *answers = "reply.celery.pidbox", *events = "celeryev";

  bool is_for_this_node(const json::value& question) const {
    const json::value &destination = member(question, "destination"), &pattern = member(question, "pattern");
    if (pattern.is_string() && member(question, "matcher") == "pcre") throw Malformed("a pattern of the kind 'pcre'");
    if (pattern.is_string() && fnmatch(pattern.get_string().c_str(), node_.c_str(), 0) != 0) return false;
    const auto is_this_node = [&](const json::value& one) { return one == json::value(node_); };
    return !destination.is_array() ||
           std::any_of(destination.get_array().begin(), destination.get_array().end(), is_this_node);
  }

  static void send(amqp::Connection& broker, const std::string& exchange, const std::string& key,
                   const json::object& body, const json::object& headers) {
    amqp::Message message;
    message.body = json::serialize(body);
    message.content_type = "application/json";
    message.persistent = false;
    publish(broker, exchange, key, std::move(message), headers);
  }

  const std::string node_, queue_ = node_ + ".celery.pidbox";
  const std::map<std::string, Method> methods_;
  std::int64_t clock_ = 0;
};

}  // namespace celery
