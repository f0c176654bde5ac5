/// Celery's message protocol, version 2, in JSON: what a task message and a result look like.
///
/// https://docs.celeryq.dev/en/stable/internals/protocol.html describes it. The name of the task and all that a worker
/// needs to route it stand in the message's headers; the body is [args, kwargs, embed].
#pragma once

#include <unistd.h>

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "broker.hpp"
#include "iso_time.hpp"

namespace task_queue {

/// A message that is no task of this protocol; says why.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A failure of a task that a Python client can raise again: the exception's class and the module that has it.
struct TaskError : std::runtime_error {
  TaskError(std::string type_, const std::string& message, std::string module_ = "builtins")
      : std::runtime_error(message), type(std::move(type_)), module(std::move(module_)) {}
  std::string type, module;
};

/// A task that a client wants done.
struct Request {
  std::string task;  ///< its registered name, such as addTask.add
  std::string id;
  json::array args = {};
  json::object kwargs = {};
  std::string reply_to = "";  ///< the queue for the result
  bool ignore_result = false;
  std::optional<Time> eta = {};      ///< not to be done before
  std::optional<Time> expires = {};  ///< not to be done after
  std::int64_t retries = 0;          ///< how often it was tried before
  bool has_canvas = false;           ///< carries callbacks, or is part of a chain or a chord
  json::object headers = {};         ///< all of them, as received; or further ones to send

  std::string title() const { return task + "[" + id + "]"; }
};

/// What became of it: SUCCESS, FAILURE or REVOKED, or for the time being PENDING, STARTED or RETRY.
struct Result {
  std::string task_id;
  std::string status;
  json::value value = nullptr;
  std::string traceback = "";

  bool ready() const { return status == "SUCCESS" || status == "FAILURE" || status == "REVOKED"; }
};

/// A random UUID, as Celery names tasks and reply queues.
inline std::string new_id() {
  thread_local boost::uuids::random_generator generate;
  return boost::uuids::to_string(generate());
}

inline std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

/// `text` as one line of a log. Much of it may come from outside, so characters that could forge a line are masked.
inline std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

/// A value for people to read: JSON, but 0.5 where Boost.JSON writes 5E-1.
inline std::string shown(const json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
}

inline json::value time_or_null(const std::optional<Time>& time) {
  return time ? json::value(to_iso(*time)) : json::value(nullptr);
}

inline Message encode(const Request& request) {
  const auto cut = [](const auto& arguments) { return json::serialize(arguments).substr(0, 1024); };
  static const std::string origin = fmt::format("cpp{}@{}", getpid(), host_name());
  Message message;
  message.correlation_id = request.id;
  message.reply_to = request.reply_to;
  message.headers = {{"lang", "cpp"},
                     {"task", request.task},
                     {"id", request.id},
                     {"root_id", request.id},
                     {"parent_id", nullptr},
                     {"group", nullptr},
                     {"group_index", nullptr},
                     {"shadow", nullptr},
                     {"argsrepr", cut(request.args)},
                     {"kwargsrepr", cut(request.kwargs)},
                     {"origin", origin},
                     {"eta", time_or_null(request.eta)},
                     {"expires", time_or_null(request.expires)},
                     {"retries", request.retries},
                     {"timelimit", {nullptr, nullptr}},
                     {"ignore_result", request.ignore_result}};
  for (const auto& [name, value] : request.headers) message.headers[name] = value;
  const json::object embed = {{"callbacks", nullptr}, {"errbacks", nullptr}, {"chain", nullptr}, {"chord", nullptr}};
  message.body = json::serialize(json::array{request.args, request.kwargs, embed});
  return message;
}

/// Throws Malformed unless the body is JSON.
inline json::value parsed_body(const Message& message) {
  // Celery once took Python's pickle by default, which lets whoever reaches the broker run code in the worker.
  if (message.content_type != "application/json")
    throw Malformed("content type '" + message.content_type + "' is refused");
  json::error_code error;
  json::value body = json::parse(message.body, error);
  if (error) throw Malformed("the body is no JSON: " + error.message());
  return body;
}

/// Throws Malformed if the message is no task. Nothing that a client sends is trusted to have the right type.
inline Request decode(const Message& message) {
  const json::object& headers = message.headers;
  const auto header = [&](std::string_view name) -> const json::value& {
    static const json::value none;
    const json::value* found = headers.if_contains(name);
    return found ? *found : none;
  };
  const auto name = [&](std::string_view which) {
    const json::value& value = header(which);
    if (!value.is_string() || value.get_string().empty() || value.get_string().size() > 255) {
      throw Malformed(fmt::format("header '{}' is no name", which));
    }
    return std::string(value.get_string());
  };
  const auto time = [&](std::string_view which) -> std::optional<Time> {
    const json::value& value = header(which);
    if (value.is_null()) return {};
    const auto found = value.is_string() ? from_iso(value.get_string()) : std::nullopt;
    if (!found) throw Malformed(fmt::format("header '{}' is no time", which));
    return found;
  };

  Request request = {name("task"), name("id")};
  request.eta = time("eta");
  request.expires = time("expires");
  const json::value& retries = header("retries");
  if (!retries.is_null() && !retries.is_int64()) throw Malformed("header 'retries' is no number");
  if (retries.is_int64()) request.retries = retries.get_int64();
  const json::value& ignore = header("ignore_result");
  request.ignore_result = ignore.is_bool() && ignore.get_bool();
  request.reply_to = message.reply_to;
  request.headers = headers;

  json::value body = parsed_body(message);
  json::array* parts = body.if_array();
  if (!parts || parts->size() != 3 || !(*parts)[0].is_array() || !(*parts)[1].is_object() || !(*parts)[2].is_object()) {
    throw Malformed("the body is not [args, kwargs, embed]");
  }
  request.args = std::move((*parts)[0].get_array());
  request.kwargs = std::move((*parts)[1].get_object());
  for (const auto& [key, value] : (*parts)[2].get_object()) request.has_canvas |= !value.is_null();
  return request;
}

/// The answer to a request, as Celery's result backend rpc:// sends it.
inline Message encode(const Result& result) {
  Message message;
  message.correlation_id = result.task_id;
  message.body = json::serialize(
      json::object{{"task_id", result.task_id},
                   {"status", result.status},
                   {"result", result.value},
                   {"traceback", result.traceback.empty() ? json::value(nullptr) : json::value(result.traceback)},
                   {"children", json::array()}});
  return message;
}

/// The result of a task that failed: {"exc_type": ..., "exc_message": [...], "exc_module": ...}.
inline Result failure(const Request& request, const TaskError& error, std::string status = "FAILURE") {
  return {
      request.id, std::move(status),
      json::object{{"exc_type", error.type}, {"exc_message", json::array{error.what()}}, {"exc_module", error.module}},
      fmt::format("{}, task {}: {}: {}", host_name(), request.title(), error.type, error.what())};
}

/// The failure that such a result tells of.
inline TaskError error_of(const Result& result) {
  const json::object* fields = result.value.if_object();
  const auto text = [&](std::string_view name) {
    const json::value* value = fields ? fields->if_contains(name) : nullptr;
    if (value && value->is_array() && value->get_array().size() == 1) value = &value->get_array()[0];
    if (value && value->is_string()) return std::string(value->get_string());
    return value ? json::serialize(*value) : std::string("unknown");
  };
  return {text("exc_type"), text("exc_message"), text("exc_module")};
}

/// Throws Malformed if the message is no result.
inline Result decode_result(const Message& message) {
  const json::value body = parsed_body(message);
  const json::object* fields = body.if_object();
  const json::value* status = fields ? fields->if_contains("status") : nullptr;
  if (!status || !status->is_string()) throw Malformed("the body is no result");
  Result result = {message.correlation_id, std::string(status->get_string())};
  if (const json::value* value = fields->if_contains("result")) result.value = *value;
  if (const json::value* text = fields->if_contains("traceback"); text && text->is_string()) {
    result.traceback = std::string(text->get_string());
  }
  return result;
}

}  // namespace task_queue
