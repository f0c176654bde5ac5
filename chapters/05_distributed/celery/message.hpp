/// The messages of Celery (protocol 2, with JSON): what a task and a result look like on the wire.
///
/// A task's headers say which function is wanted, and how; its body is [args, kwargs, embed]. The protocol is described
/// at https://docs.celeryq.dev/en/stable/internals/protocol.html.
#pragma once

#include <unistd.h>

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "amqp.hpp"
#include "celery/json_table.hpp"
#include "celery/untrusted_json.hpp"

namespace celery {

inline constexpr std::size_t max_body = 1 << 20;            ///< bytes of a task's body
inline constexpr std::size_t max_result = 1 << 24;          ///< bytes of a result as JSON
inline constexpr const char* dead_letters = "celery.dead";  ///< the queue for what no worker can execute

/// A task that a client wants done.
struct Task {
  std::string name;                    ///< under which the function is registered, such as addTask.add
  std::string id;                      ///< a random UUID
  json::array args = {};               ///< arguments by position
  json::object kwargs = {};            ///< arguments by name
  std::string reply_to = "";           ///< the queue for the result
  bool ignore_result = false;          ///< no result is wanted
  std::optional<Time> eta = {};        ///< not to be started before
  std::optional<Time> expires = {};    ///< not to be started after
  std::int64_t retries = 0;            ///< how often it was tried before
  std::optional<double> time_limit{};  ///< seconds after which it is killed
  std::optional<double> soft_limit{};  ///< the same; a Python task is told, and could still clean up
  json::array chain = {};              ///< the tasks after this one, the next one last
  std::string unknown = "";            ///< another thing that `embed` asks for
  json::object headers = {};           ///< as received; or further ones to send
};

/// A failure that a Python client can raise again: the exception's class, and the module that has it. The texts may
/// come from anywhere, and the client reads them as JSON. So they are made UTF-8, and cut.
struct TaskError : std::runtime_error {
  TaskError(const std::string& type_, const std::string& message, const std::string& module_ = "builtins")
      : std::runtime_error(as_utf8(message, 10'000)), type(as_utf8(type_, 255)), module(as_utf8(module_, 255)) {}
  std::string type, module;
};

/// What became of a task: SUCCESS, FAILURE or REVOKED; for the time being PENDING, STARTED or RETRY.
struct Result {
  std::string status;
  json::value value = nullptr;  ///< of a failure: {"exc_type": ..., "exc_message": [...], "exc_module": ...}
  std::string traceback = "";

  bool ready() const { return status == "SUCCESS" || status == "FAILURE" || status == "REVOKED"; }
};

inline Result failure(const TaskError& error, const std::string& status = "FAILURE") {
  return {status, json::object{{"exc_type", error.type}, {"exc_message", {error.what()}}, {"exc_module", error.module}},
          error.type + ": " + error.what()};
}

/// The value that a task has returned. Throws TaskError if the client could not read it.
inline json::value checked(json::value value) {
  std::string fault(fault_of(value));
  if (fault.empty() && json::serialize(value).size() > max_result) fault = "more than 16 MiB";
  if (!fault.empty()) throw TaskError("EncodeError", "the result has " + fault, "kombu.exceptions");
  return value;
}

inline Result revocation(const std::string& why) {
  return failure({"TaskRevokedError", why, "celery.exceptions"}, "REVOKED");
}

/// The failure that such a result tells of.
inline TaskError error_of(const Result& result) {
  const auto text = [&](std::string_view name) {
    const json::value* value = &member(result.value, name);
    if (value->is_array() && value->get_array().size() == 1) value = &value->get_array()[0];
    return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  };
  return {text("exc_type"), text("exc_message"), text("exc_module")};
}

inline std::string new_id() {
  thread_local boost::uuids::random_generator generate;
  return boost::uuids::to_string(generate());
}

/// A queue for tasks, declared as Celery declares it: durable, with a direct exchange and a key of its own name.
inline void declare_task_queue(amqp::Connection& broker, const std::string& name) {
  broker.declare_exchange(name, "direct", true);
  broker.declare_queue(name);
  broker.bind(name, name, name);
}

/// Publishes a message with these headers instead of its own. Throws std::invalid_argument if they are too large.
inline std::uint64_t publish(amqp::Connection& broker, const std::string& exchange, const std::string& key,
                             amqp::Message message, const json::object& headers,
                             amqp::Unrouted unrouted = amqp::Unrouted::dropped) {
  const Table table(headers);
  message.headers = table.get();
  return broker.publish(exchange, key, message, unrouted);
}

/// Posts a task to a queue. Returns the message's number. Throws std::invalid_argument if a worker would refuse the
/// message for its size, or the broker for its reply_to.
inline std::uint64_t publish(amqp::Connection& broker, const std::string& queue, const Task& task,
                             amqp::Unrouted unrouted = amqp::Unrouted::dropped) {
  json::object headers = {{"lang", "cpp"}, {"root_id", task.id}, {"parent_id", nullptr}, {"group", nullptr}};
  headers["argsrepr"] = json::serialize(task.args).substr(0, 1024);  // for people: logs and monitors show it
  headers["kwargsrepr"] = json::serialize(task.kwargs).substr(0, 1024);
  headers["origin"] = fmt::format("cpp{}", getpid());
  for (const auto& [name, value] : task.headers) headers[name] = value;
  headers["task"] = task.name;
  headers["id"] = task.id;
  headers["eta"] = or_null(task.eta);
  headers["expires"] = or_null(task.expires);
  headers["retries"] = task.retries;
  headers["timelimit"] = {or_null(task.time_limit), or_null(task.soft_limit)};
  headers["ignore_result"] = task.ignore_result;
  const json::value chain = task.chain.empty() ? json::value(nullptr) : json::value(task.chain);
  const json::object embed = {{"callbacks", nullptr}, {"errbacks", nullptr}, {"chain", chain}, {"chord", nullptr}};
  amqp::Message message = {.reply_to = task.reply_to, .correlation_id = task.id, .content_type = "application/json"};
  message.body = json::serialize(json::array{task.args, task.kwargs, embed});
  if (message.body.size() > max_body) {
    throw std::invalid_argument(fmt::format("the body has {} bytes, {} are allowed", message.body.size(), max_body));
  }
  // The broker closes the channel of a sender that wants answers by this name, and does not consume them.
  if (task.reply_to == "amq.rabbitmq.reply-to") throw std::invalid_argument("no queue: " + task.reply_to);
  return publish(broker, "", queue, std::move(message), headers, unrouted);
}

/// Sends a result to the queue that the task names, as Celery's result backend rpc:// does. Returns the message's
/// number, or 0 if no result is wanted.
inline std::uint64_t publish_result(amqp::Connection& broker, const Task& task, const Result& result) {
  if (task.reply_to.empty() || task.ignore_result) return 0;
  const json::object body = {
      {"task_id", task.id},
      {"status", result.status},
      {"result", result.value},
      {"traceback", result.traceback.empty() ? json::value(nullptr) : json::value(result.traceback)},
      {"children", json::array()}};
  amqp::Message message = {.correlation_id = task.id, .content_type = "application/json", .persistent = false};
  message.body = json::serialize(body);
  return broker.publish("", task.reply_to, message);
}

inline json::value parsed_body(const amqp::Message& message) {
  // Celery once took Python's pickle by default, which lets whoever reaches the broker run code in the worker.
  if (message.content_type != "application/json") {
    throw Malformed("content type '" + message.content_type + "' is refused");
  }
  return parse(message.body);
}

/// The headers of a message. Without those by which the client asks the broker for copies in other queues, since the
/// broker would make them again when the worker publishes the same headers.
inline json::object headers_of(const amqp::Message& message) {
  json::object headers = to_json(message.headers);
  headers.erase("CC");
  headers.erase("BCC");
  return headers;
}

/// What is known of a task before its message has been read: to whom an error goes.
inline Task unread_task(const amqp::Message& message) {
  return {.name = "?", .id = as_utf8(message.correlation_id), .reply_to = message.reply_to};
}

/// The task in a message. Throws Malformed if there is none.
inline Task read_task(const amqp::Message& message) {
  Task task;
  task.headers = headers_of(message);
  const auto header = [&](std::string_view name) -> const json::value& { return member(task.headers, name); };
  task.name = read_name(header("task"), "task");
  task.id = read_name(header("id"), "id");
  task.reply_to = message.reply_to;
  task.ignore_result = header("ignore_result") == json::value(true);
  task.eta = read_time(header("eta"), "eta");
  task.expires = read_time(header("expires"), "expires");
  if (!header("retries").is_null() && !header("retries").is_int64()) throw Malformed("'retries' is no number");
  if (header("retries").is_int64()) task.retries = header("retries").get_int64();
  if (const json::array* limits = header("timelimit").if_array(); limits && limits->size() == 2) {
    task.time_limit = read_seconds((*limits)[0], "timelimit");
    task.soft_limit = read_seconds((*limits)[1], "timelimit");
  }
  if (!header("compression").is_null()) throw Malformed("a compressed body is refused");
  if (message.body.size() > max_body) {
    throw Malformed(fmt::format("the body has {} bytes, {} are allowed", message.body.size(), max_body));
  }

  json::value body = parsed_body(message);
  json::array* parts = body.if_array();
  if (!parts || parts->size() != 3 || !(*parts)[0].is_array() || !(*parts)[1].is_object() || !(*parts)[2].is_object()) {
    throw Malformed("the body is not [args, kwargs, embed]");
  }
  task.args = std::move((*parts)[0].get_array());
  task.kwargs = std::move((*parts)[1].get_object());
  for (const auto& [name, value] : (*parts)[2].get_object()) {
    if (value.is_null() || (value.is_array() && value.get_array().empty())) continue;
    if (name == "chain" && value.is_array())
      task.chain = value.get_array();
    else
      task.unknown = std::string(name);
  }
  return task;
}

/// What a message of the result backend says. Throws Malformed if it is no result.
inline Result read_result(const amqp::Message& message) {
  const json::value body = parsed_body(message);
  Result result = {read_name(member(body, "status"), "status"), member(body, "result")};
  if (member(body, "traceback").is_string()) result.traceback = std::string(member(body, "traceback").get_string());
  return result;
}

/// Moves a message to celery.dead, says so on standard error, and waits until the broker has confirmed it. (Celery
/// declares its queues without dead letters, and another declaration of the same queue would be refused. So the worker
/// moves the message itself.)
inline void keep_aside(amqp::Connection& broker, const amqp::Delivery& message, const TaskError& why) {
  cookbook::print_error(one_line(fmt::format("message moved to {}: {}: {}", dead_letters, why.type, why.what())));
  json::object headers = headers_of(message);
  headers["rejected-because"] = why.what();
  try {
    publish(broker, "", dead_letters, message, headers, amqp::Unrouted::error);
  } catch (const std::invalid_argument&) {  // with one header more they are too large
    publish(broker, "", dead_letters, message, {{"rejected-because", "its headers fill a frame"}},
            amqp::Unrouted::error);
  }
  broker.confirm();
}

}  // namespace celery
