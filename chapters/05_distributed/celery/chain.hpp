/// Chains: the message of a task carries those that are to follow it, so that the worker that executes it posts the
/// next one.
#pragma once

#include <set>
#include <string>

#include "celery/message.hpp"

namespace celery {

/// Tasks that may follow one: a limit for the work of the worker that gets such a message. (One of 1 MiB has room for
/// 27,000 signatures without anything in them, and for 1,500 as Celery writes them.)
inline constexpr std::size_t max_chain = 10'000;

/// Seconds from now, or a time in ISO 8601, as the options of a signature have them.
inline std::optional<Time> read_moment(const json::value& value, std::string_view what) {
  if (!value.is_number()) return read_time(value, what);
  const double seconds = value.to_number<double>();
  if (!(std::abs(seconds) < 1e9)) throw Malformed(fmt::format("'{}' is no time", what));
  return after(seconds);
}

struct Next {
  Task task;
  std::string queue;
};

/// The task that is to follow `task` and gets its `result` as its first argument, without those after it. A signature
/// has its name, arguments and options as JSON. Throws Malformed, or TaskError if it asks for what this worker does not
/// implement.
inline Next read_signature(const json::value& signature, const Task& task, const json::value& result) {
  const json::value& options = member(signature, "options");
  const auto option = [&](std::string_view name) -> const json::value& { return member(options, name); };
  static const std::set<std::string_view> known = {
      "task_id",   "reply_to", "queue",      "root_id", "parent_id",   "group_id",        "eta",
      "countdown", "expires",  "time_limit", "retries", "group_index", "soft_time_limit", "ignore_result"};
  for (const auto& [name, value] : options.is_object() ? options.get_object() : json::object()) {
    if (value.is_null() || known.contains(name)) continue;
    throw TaskError("NotImplementedError", "in a chain: option " + std::string(name));
  }
  if (!member(signature, "subtask_type").is_null()) {
    throw TaskError("NotImplementedError", "in a chain: groups and chords");
  }
  Task next = {read_name(member(signature, "task"), "task"), read_name(option("task_id"), "task_id")};
  if (member(signature, "immutable") != json::value(true)) next.args.push_back(result);
  const json::value &args = member(signature, "args"), &kwargs = member(signature, "kwargs");
  if (args.is_array()) next.args.insert(next.args.end(), args.get_array().begin(), args.get_array().end());
  if (kwargs.is_object()) next.kwargs = kwargs.get_object();
  next.reply_to = option("reply_to").is_null() ? task.reply_to : read_name(option("reply_to"), "reply_to");
  next.ignore_result = option("ignore_result") == json::value(true);
  next.eta = read_moment(option(option("countdown").is_null() ? "eta" : "countdown"), "eta");
  next.expires = read_moment(option("expires"), "expires");
  next.time_limit = read_seconds(option("time_limit"), "time_limit");
  next.soft_limit = read_seconds(option("soft_time_limit"), "soft_time_limit");
  next.headers = {{"root_id", member(task.headers, "root_id")}, {"parent_id", task.id}, {"group", option("group_id")}};
  return {std::move(next), option("queue").is_null() ? "celery" : read_name(option("queue"), "queue")};
}

/// Throws Malformed or TaskError if one of the tasks that follow cannot be read. One after the other: no task is made
/// with a chain of its own here, since all these chains together have about half the square of the chain's length.
inline void check_chain(const Task& task) {
  if (task.chain.size() > max_chain) {
    throw TaskError("ValueError", fmt::format("{} tasks in a chain, {} are allowed", task.chain.size(), max_chain));
  }
  for (const json::value& signature : task.chain) read_signature(signature, task, nullptr);
}

/// The next task of a chain, from its last element; the message of that task has the others.
inline Next next_in_chain(const Task& task, const json::value& result) {
  Next next = read_signature(task.chain.back(), task, result);
  next.task.chain = json::array(task.chain.begin(), task.chain.end() - 1);
  return next;
}

/// Gives all tasks that follow the failure of this one as their result, since the client waits for the last one.
/// Returns the number of the last message, 0 if there is none.
inline std::uint64_t fail_chain(amqp::Connection& broker, const Task& task, const Result& result) {
  std::uint64_t last = 0;
  for (const json::value& signature : task.chain) {
    const json::value& options = member(signature, "options");
    try {
      const json::value& reply_to = member(options, "reply_to");
      const Task next = {.name = "",
                         .id = read_name(member(options, "task_id"), "task_id"),
                         .reply_to = reply_to.is_null() ? task.reply_to : read_name(reply_to, "reply_to")};
      last = publish_result(broker, next, result);
    } catch (const Malformed&) {
      // Nobody waits for this one.
    }
  }
  return last;
}

/// Publishes the result of a task and, if it has a chain, either the next task of that or, after a failure, the results
/// of all tasks that should have followed. Returns the number of the last message, 0 if nobody waits for any.
inline std::uint64_t publish_with_chain(amqp::Connection& broker, const Task& task, const Result& result) {
  const std::uint64_t own = publish_result(broker, task, result);
  if (task.chain.empty()) return own;
  const auto fail = [&](const Result& reason) { return std::max(own, fail_chain(broker, task, reason)); };
  if (result.status != "SUCCESS") return fail(result);
  try {
    const Next next = next_in_chain(task, result.value);
    const std::uint64_t number = publish(broker, next.queue, next.task, amqp::Unrouted::error);
    broker.confirm();  // is there a queue for it?
    return number;
  } catch (const amqp::Unroutable& error) {
    return fail(failure({"QueueNotFound", error.what(), "celery.exceptions"}));
  } catch (const std::invalid_argument& error) {  // the next task's message has become too large
    return fail(failure({"ValueError", error.what()}));
  }
}

}  // namespace celery
