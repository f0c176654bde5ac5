/// Questions to all workers at once, as `celery inspect` asks them: publish/subscribe beside the queues of tasks.
///
/// A fanout exchange copies each question into one queue a worker. The answers come back by a direct exchange, to the
/// queue of whoever asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "celery.hpp"
#include "connection.hpp"

namespace task_queue {

inline const std::string questions = "celery.pidbox", answers = "reply.celery.pidbox";

inline void declare_control(Connection& connection) {
  connection.declare_exchange(questions, "fanout", false);
  connection.declare_exchange(answers, "direct", false);
}

/// The worker's side.
class Control {
 public:
  using Method = std::function<json::value()>;

  Control(std::string node, std::map<std::string, Method> methods)
      : node_(std::move(node)), queue_(node_ + ".celery.pidbox"), methods_(std::move(methods)) {}

  const std::string& node() const { return node_; }
  const std::string& queue() const { return queue_; }

  void listen(Connection& connection) const {
    declare_control(connection);
    connection.declare_queue(queue_, false, true, {{"x-expires", 10'000}});
    connection.bind(queue_, questions, "");
    connection.consume(queue_, false);
  }

  /// Answers a question, or ignores what is none: nobody must be able to stop a worker by a strange message.
  void answer(Connection& connection, const Message& message) const {
    std::string method, key;
    Message reply;
    reply.persistent = false;
    try {
      const json::value body = parsed_body(message);
      const json::value* to = body.as_object().if_contains("destination");
      if (to && to->is_array() && !contains(to->get_array(), node_)) return;
      method = body.at("method").as_string();
      key = body.at("reply_to").at("routing_key").as_string();
      if (body.at("reply_to").at("exchange").as_string() != answers || key.size() > 255) return;
      reply.headers = {{"ticket", body.at("ticket").as_string()}, {"clock", 0}};
    } catch (const std::exception&) {  // a part is missing or of another type
      return;
    }
    const auto known = methods_.find(method);
    json::value value = known == methods_.end() ? json::object{{"error", "no such method"}} : known->second();
    reply.body = json::serialize(json::object{{node_, std::move(value)}});
    connection.publish(answers, key, reply);
  }

 private:
  static bool contains(const json::array& list, const std::string& text) {
    return std::any_of(list.begin(), list.end(), [&](const json::value& one) { return one == json::value(text); });
  }

  std::string node_, queue_;
  std::map<std::string, Method> methods_;
};

/// Asks all workers for `method`, and collects what they answer within `timeout`, or until `enough` of them have
/// answered: the answers by node.
inline std::map<std::string, json::value> ask_workers(Connection& connection, const std::string& method,
                                                      std::chrono::milliseconds timeout,
                                                      std::size_t enough = SIZE_MAX) {
  const std::string ticket = new_id();
  declare_control(connection);
  connection.declare_queue(ticket, false, true, {{"x-expires", 10'000}});
  connection.bind(ticket, answers, ticket);
  connection.consume(ticket, false);

  Message question;
  question.persistent = false;
  question.body = json::serialize(json::object{{"method", method},
                                               {"arguments", json::object()},
                                               {"destination", nullptr},
                                               {"pattern", nullptr},
                                               {"matcher", nullptr},
                                               {"ticket", ticket},
                                               {"reply_to", {{"exchange", answers}, {"routing_key", ticket}}}});
  connection.publish(questions, "", question);

  std::map<std::string, json::value> found;
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (found.size() < enough) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - std::chrono::steady_clock::now());
    const auto event = left.count() > 0 ? connection.next(left) : std::nullopt;
    if (!event) break;
    const auto* delivery = std::get_if<Delivery>(&*event);
    if (delivery == nullptr || delivery->consumer != ticket) continue;
    const json::value body = parsed_body(delivery->message);
    if (!body.is_object()) continue;
    for (const auto& [node, value] : body.get_object()) found[std::string(node)] = value;
  }
  connection.stop_consuming(ticket);
  return found;
}

}  // namespace task_queue
