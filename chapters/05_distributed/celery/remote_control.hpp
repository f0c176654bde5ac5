/// What people ask a worker beside its tasks: `celery inspect`, `celery control`, and the events that monitors read.
///
/// Questions come by publish and subscribe: the exchange celery.pidbox copies each into a queue per worker. Events go
/// to the exchange celeryev, from where every monitor that listens gets a copy.
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "celery/message.hpp"

namespace celery {

/// The answer to a command that was obeyed.
inline json::object ok(const std::string& text) { return {{"ok", text}}; }

class RemoteControl {
 public:
  /// Gets the question's arguments, an object; returns the answer.
  using Method = std::function<json::value(const json::value&)>;

  explicit RemoteControl(std::string node) : node_(std::move(node)) {}

  /// From now on, `answer` answers a question, or obeys a command, that has this name.
  void on(const std::string& name, Method answer) { methods_[name] = std::move(answer); }

  const std::string& node() const { return node_; }
  const std::string& queue() const { return queue_; }
  std::int64_t clock() const { return clock_; }
  bool task_events = false;  ///< wanted by a monitor

  /// Uses this connection from now on. Throws amqp::Error if another worker has this name.
  void listen(amqp::Connection& broker) {
    broker_ = &broker;
    broker.declare_exchange(questions, "fanout", false);  // a copy to every queue that is bound to it
    broker.declare_exchange(answers, "direct", false);    // to the queue that is bound by the message's key
    broker.declare_exchange(events, "topic", true);       // to the queues that are bound by a pattern of the key
    broker.declare_queue(queue_, {.durable = false, .exclusive = true});
    broker.bind(queue_, questions, "");
    broker.consume(queue_, amqp::Acknowledgement::automatic);
  }

  /// Answers a question, with an error if it is about something that this worker cannot do. What is no question, or has
  /// a wrong address for the answer, is reported and ignored, and no command in it is obeyed.
  void answer(const amqp::Message& message) {
    try {
      if (message.body.size() > max_body) throw Malformed("a question is longer than a task may be");
      const json::value question = parsed_body(message);
      if (!is_for_this_node(question)) return;
      const std::string name = read_name(member(question, "method"), "method");
      const json::value &reply_to = member(question, "reply_to"), &ticket = member(question, "ticket");
      std::string key;  // read before a command is obeyed, so that none is obeyed whose sender is refused an answer
      if (!reply_to.is_null()) {
        if (member(reply_to, "exchange") != json::value(answers)) throw Malformed("'exchange' is another one");
        key = read_name(member(reply_to, "routing_key"), "routing_key");
        if (!ticket.is_null()) read_name(ticket, "ticket");
      }
      const auto method = methods_.find(name);
      json::value value = json::object{{"error", name + " is not implemented by this worker"}};
      if (method == methods_.end())
        report(name + " is not implemented by this worker");
      else
        value = method->second(member(question, "arguments"));
      if (reply_to.is_null()) return;
      send(answers, key, {{node_, std::move(value)}}, {{"ticket", ticket}, {"clock", ++clock_}});
    } catch (const std::exception& error) {
      report(std::string("question ignored: ") + error.what());
    }
  }

  /// Tells the monitors of something, such as "worker-online".
  void tell(std::string type, json::object event) {
    event["type"] = type;
    event["hostname"] = node_;
    event["timestamp"] = timestamp();
    event["utcoffset"] = 0;
    event["pid"] = getpid();
    event["clock"] = ++clock_;
    std::replace(type.begin(), type.end(), '-', '.');
    send(events, type, event, {{"hostname", node_}});
  }

  /// Tells them of a task, such as "task-started", if one of them wants to know. Only then `details` is called.
  void tell_of_task(
      const std::string& type, const Task& task,
      const std::function<json::object()>& details = [] { return json::object(); }) {
    if (!task_events) return;
    json::object event = details();
    event["uuid"] = task.id;
    tell(type, std::move(event));
  }

 private:
  static void report(const std::string& what) { cookbook::print_error(one_line(what)); }

  static constexpr const char *questions = "celery.pidbox", *answers = "reply.celery.pidbox", *events = "celeryev";

  bool is_for_this_node(const json::value& question) const {
    const json::value &destination = member(question, "destination"), &pattern = member(question, "pattern");
    if (pattern.is_string() && member(question, "matcher") == "pcre") throw Malformed("a pattern of the kind 'pcre'");
    if (pattern.is_string() && fnmatch(pattern.get_string().c_str(), node_.c_str(), 0) != 0) return false;
    if (!destination.is_array()) return true;
    const json::array& names = destination.get_array();
    return std::find(names.begin(), names.end(), json::value(node_)) != names.end();
  }

  void send(const std::string& exchange, const std::string& key, const json::object& body,
            const json::object& headers) {
    amqp::Message message = {.content_type = "application/json", .persistent = false};
    message.body = json::serialize(body);
    publish(*broker_, exchange, key, std::move(message), headers);
  }

  const std::string node_, queue_ = node_ + ".celery.pidbox";
  std::map<std::string, Method> methods_;
  amqp::Connection* broker_ = nullptr;
  std::int64_t clock_ = 0;  ///< counts this worker's messages, so that a monitor can put them in order
};

}  // namespace celery
