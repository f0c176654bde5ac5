/// Celery's message protocol, version 2, in JSON: what a task and a result look like.
///
/// https://docs.celeryq.dev/en/stable/internals/protocol.html describes it. The headers of a message say which task is
/// wanted, and how; the body is [args, kwargs, embed].
#pragma once

#include <unistd.h>

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "amqp.hpp"
#include "iso_time.hpp"
#include "json_table.hpp"

namespace celery {

/// A message that is no task of this protocol.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A failure that a Python client can raise again: the exception's class, and the module that has it.
struct TaskError : std::runtime_error {
  TaskError(std::string type_, const std::string& message, std::string module_ = "builtins")
      : std::runtime_error(message), type(std::move(type_)), module(std::move(module_)) {}
  std::string type, module;
};

/// A task that a client wants done.
struct Task {
  std::string name;  ///< under which it is registered, such as addTask.add
  std::string id;
  json::array args = {};
  json::object kwargs = {};
  std::string reply_to = "";  ///< the queue for the result
  bool ignore_result = false;
  std::optional<Time> eta = {};        ///< not to be started before
  std::optional<Time> expires = {};    ///< not to be started after
  std::int64_t retries = 0;            ///< how often it was tried before
  std::optional<double> time_limit{};  ///< seconds after which it is killed
  std::optional<double> soft_limit{};  ///< the same; a Python task is told, and could still clean up
  json::array chain = {};              ///< the tasks after this one, the next one last
  std::string not_implemented = "";    ///< what it asks for and this worker cannot do
  json::object headers = {};           ///< as received; or further ones to send

  std::string title() const { return name + "[" + id + "]"; }
};

/// What became of it: SUCCESS, FAILURE or REVOKED; for the time being PENDING, STARTED or RETRY.
struct Result {
  std::string status;
  json::value value = nullptr;  ///< of a failure: {"exc_type": ..., "exc_message": [...], "exc_module": ...}
  std::string traceback = "";

  bool ready() const { return status == "SUCCESS" || status == "FAILURE" || status == "REVOKED"; }
};

inline Result failure(const TaskError& error, std::string status = "FAILURE") {
  return {std::move(status),
          json::object{{"exc_type", error.type}, {"exc_message", {error.what()}}, {"exc_module", error.module}},
          error.type + ": " + error.what()};
}

/// The failure that such a result tells of.
inline TaskError error_of(const Result& result) {
  const auto text = [&](std::string_view name) {
    const json::value* value = result.value.is_object() ? result.value.get_object().if_contains(name) : nullptr;
    if (value && value->is_array() && value->get_array().size() == 1) value = &value->get_array()[0];
    if (value && value->is_string()) return std::string(value->get_string());
    return value ? json::serialize(*value) : std::string("unknown");
  };
  return {text("exc_type"), text("exc_message"), text("exc_module")};
}

/// A random UUID, as Celery names tasks and reply queues.
inline std::string new_id() {
  thread_local boost::uuids::random_generator generate;
  return boost::uuids::to_string(generate());
}

/// A value for people to read: JSON, but 0.5 where Boost.JSON writes 5E-1.
inline std::string shown(const json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
}

inline json::value or_null(const std::optional<Time>& time) { return time ? json::value(to_iso(*time)) : nullptr; }
inline json::value or_null(const std::optional<double>& number) { return number ? json::value(*number) : nullptr; }

/// A queue for tasks, declared as Celery declares it: durable, with a direct exchange and a key of its own name.
inline void declare_task_queue(amqp::Connection& broker, const std::string& name) {
  broker.declare_exchange(name, "direct", true);
  broker.declare_queue(name);
  broker.bind(name, name, name);
}

/// Publishes a JSON text with headers. Throws std::invalid_argument if these are too large. Returns its number.
inline std::uint64_t publish(amqp::Connection& broker, const std::string& exchange, const std::string& key,
                             amqp::Message message, const json::object& headers,
                             amqp::Unrouted unrouted = amqp::Unrouted::dropped) {
  const Table table(headers);
  message.headers = table.get();
  return broker.publish(exchange, key, message, unrouted);
}

inline std::uint64_t publish(amqp::Connection& broker, const std::string& queue, const Task& task,
                             amqp::Unrouted unrouted = amqp::Unrouted::dropped) {
  json::object headers = {{"lang", "cpp"},
                          {"task", task.name},
                          {"id", task.id},
                          {"root_id", task.id},
                          {"parent_id", nullptr},
                          {"group", nullptr},
                          {"argsrepr", json::serialize(task.args).substr(0, 1024)},
                          {"kwargsrepr", json::serialize(task.kwargs).substr(0, 1024)},
                          {"origin", fmt::format("cpp{}", getpid())}};
  for (const auto& [name, value] : task.headers) headers[name] = value;
  headers["eta"] = or_null(task.eta);
  headers["expires"] = or_null(task.expires);
  headers["retries"] = task.retries;
  headers["timelimit"] = {or_null(task.time_limit), or_null(task.soft_limit)};
  headers["ignore_result"] = task.ignore_result;
  const json::value chain = task.chain.empty() ? json::value(nullptr) : json::value(task.chain);
  const json::object embed = {{"callbacks", nullptr}, {"errbacks", nullptr}, {"chain", chain}, {"chord", nullptr}};
  amqp::Message message;
  message.body = json::serialize(json::array{task.args, task.kwargs, embed});
  message.content_type = "application/json";
  message.reply_to = task.reply_to;
  message.correlation_id = task.id;
  return publish(broker, "", queue, std::move(message), headers, unrouted);
}

/// Sends a result as Celery's result backend rpc:// does.
inline std::uint64_t publish(amqp::Connection& broker, const std::string& reply_to, const std::string& id,
                             const Result& result) {
  amqp::Message message;
  message.body = json::serialize(
      json::object{{"task_id", id},
                   {"status", result.status},
                   {"result", result.value},
                   {"traceback", result.traceback.empty() ? json::value(nullptr) : json::value(result.traceback)},
                   {"children", json::array()}});
  message.content_type = "application/json";
  message.correlation_id = id;
  message.persistent = false;
  return broker.publish("", reply_to, message);
}

/// Whether a JSON text has a whole number that does not fit into 64 bits. Boost.JSON would make a rounded one of it.
inline bool has_huge_integer(std::string_view text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (text[i] == '\\') ++i;  // in a string: the next character is not the end
    if (in_string || text[i] < '0' || text[i] > '9') continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", i), text.size());
    const bool whole = end == text.size() || (text[end] != '.' && text[end] != 'e' && text[end] != 'E');
    if (whole && (end - i > 19 || (end - i == 19 && text.substr(i, 19) > "9223372036854775807"))) return true;
    i = std::min(text.find_first_not_of("0123456789.eE+-", i), text.size()) - 1;
  }
  return false;
}

inline json::value parsed_body(const amqp::Message& message) {
  // Celery once took Python's pickle by default, which lets whoever reaches the broker run code in the worker.
  if (message.content_type != "application/json") {
    throw Malformed("content type '" + message.content_type + "' is refused");
  }
  json::error_code error;
  json::value body = json::parse(message.body, error);
  if (error) throw Malformed("the body is no JSON: " + error.message());
  return body;
}

/// A member of an object; null if `of` is no object or does not have it.
inline const json::value& member(const json::value& of, std::string_view name) {
  static const json::value none;
  const json::value* found = of.is_object() ? of.get_object().if_contains(name) : nullptr;
  return found ? *found : none;
}

/// Seconds from now, or a time in ISO 8601, as options have them.
inline std::optional<Time> read_time(const json::value& value, std::string_view what) {
  if (value.is_null()) return {};
  if (value.is_number()) {
    const double seconds = value.to_number<double>();
    if (std::abs(seconds) < 1e9) return after(seconds);
  }
  const auto found = value.is_string() ? from_iso(std::string(value.get_string())) : std::nullopt;
  if (!found) throw Malformed(fmt::format("'{}' is no time", what));
  return found;
}

inline std::optional<double> read_seconds(const json::value& value, std::string_view what) {
  if (value.is_null()) return {};
  if (!value.is_number() || !(value.to_number<double>() > 0 && value.to_number<double>() < 1e9))
    throw Malformed(fmt::format("'{}' is no time", what));
  return value.to_number<double>();
}

inline std::string read_name(const json::value& value, std::string_view what) {
  if (!value.is_string() || value.get_string().empty() || value.get_string().size() > 255) {
    throw Malformed(fmt::format("'{}' is no name", what));
  }
  return std::string(value.get_string());
}

/// A task of a chain, as the message of the task before it has it: a "signature". `result` becomes its first argument.
inline Task next_in_chain(const Task& task, const json::value& result) {
  const json::value& signature = task.chain.back();
  const json::value& options = member(signature, "options");
  for (const auto& [name, value] : options.is_object() ? options.get_object() : json::object()) {
    static const std::set<std::string_view> known = {
        "task_id",   "reply_to", "queue",      "root_id", "parent_id",   "group_id",        "eta",
        "countdown", "expires",  "time_limit", "retries", "group_index", "soft_time_limit", "ignore_result"};
    if (!value.is_null() && !known.contains(name))
      throw TaskError("NotImplementedError", "in a chain: option " + std::string(name));
  }
  if (!member(signature, "subtask_type").is_null())
    throw TaskError("NotImplementedError", "in a chain: groups and chords");
  Task next = {read_name(member(signature, "task"), "task"), read_name(member(options, "task_id"), "task_id")};
  if (member(signature, "immutable") != json::value(true)) next.args.push_back(result);
  const json::value &args = member(signature, "args"), &kwargs = member(signature, "kwargs");
  if (args.is_array()) next.args.insert(next.args.end(), args.get_array().begin(), args.get_array().end());
  if (kwargs.is_object()) next.kwargs = kwargs.get_object();
  const json::value &reply_to = member(options, "reply_to"), &countdown = member(options, "countdown");
  next.reply_to = reply_to.is_null() ? task.reply_to : read_name(reply_to, "reply_to");
  next.ignore_result = member(options, "ignore_result") == json::value(true);
  next.eta = read_time(countdown.is_null() ? member(options, "eta") : countdown, "eta");
  next.expires = read_time(member(options, "expires"), "expires");
  next.time_limit = read_seconds(member(options, "time_limit"), "time_limit");
  next.soft_limit = read_seconds(member(options, "soft_time_limit"), "soft_time_limit");
  next.headers = {
      {"root_id", member(task.headers, "root_id")}, {"parent_id", task.id}, {"group", member(options, "group_id")}};
  next.chain = task.chain;
  next.chain.pop_back();
  return next;
}

/// Throws Malformed if the message is no task. Nothing that a client sends is trusted to have the right type.
inline Task decode(const amqp::Message& message) {
  json::value headers = to_json(message.headers);
  const auto header = [&](std::string_view name) -> const json::value& { return member(headers, name); };
  Task task = {read_name(header("task"), "task"), read_name(header("id"), "id")};
  task.reply_to = message.reply_to;
  if (!header("eta").is_null()) task.eta = read_time(header("eta").is_string() ? header("eta") : false, "eta");
  if (!header("expires").is_null()) {
    task.expires = read_time(header("expires").is_string() ? header("expires") : false, "expires");
  }
  if (!header("retries").is_null() && !header("retries").is_int64()) throw Malformed("'retries' is no number");
  if (header("retries").is_int64()) task.retries = header("retries").get_int64();
  task.ignore_result = header("ignore_result") == json::value(true);
  if (const json::array* limits = header("timelimit").if_array(); limits && limits->size() == 2) {
    task.time_limit = read_seconds((*limits)[0], "timelimit");
    task.soft_limit = read_seconds((*limits)[1], "timelimit");
  }
  if (!header("compression").is_null()) throw Malformed("a compressed body is refused");

  json::value body = parsed_body(message);
  json::array* parts = body.if_array();
  if (!parts || parts->size() != 3 || !(*parts)[0].is_array() || !(*parts)[1].is_object() || !(*parts)[2].is_object()) {
    throw Malformed("the body is not [args, kwargs, embed]");
  }
  if (has_huge_integer(message.body)) throw Malformed("a whole number does not fit into 64 bits");
  task.args = std::move((*parts)[0].get_array());
  task.kwargs = std::move((*parts)[1].get_object());
  for (const auto& [name, value] : (*parts)[2].get_object()) {
    const bool wanted = !value.is_null() && !(value.is_array() && value.get_array().empty());
    if (wanted && name == "chain" && value.is_array()) task.chain = value.get_array();
    if (wanted && (name != "chain" || !value.is_array())) task.not_implemented = std::string(name);
  }
  task.headers = std::move(headers.get_object());
  return task;
}

/// What a message of the result backend says. Throws Malformed if it is no result.
inline Result decode_result(const amqp::Message& message) {
  const json::value body = parsed_body(message);
  Result result = {read_name(member(body, "status"), "status"), member(body, "result")};
  if (member(body, "traceback").is_string()) result.traceback = std::string(member(body, "traceback").get_string());
  return result;
}

}  // namespace celery
