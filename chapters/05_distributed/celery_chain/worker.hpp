/// A worker that executes a task of Celery and then publishes the message that takes the task's place: its result, the
/// next task of its chain, or the same task once more, for later.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "celery/chain.hpp"
#include "celery/registry.hpp"
#include "cookbook/print.hpp"

namespace celery {

class ChainWorker {
 public:
  ChainWorker(const std::string& url, const Registry& registry) : broker_(url), registry_(registry) {
    declare_task_queue(broker_, "celery");
    set_prefetch();
    broker_.consume("celery");
  }

  virtual ~ChainWorker() = default;

  /// Called when the broker has what takes a task's place, and the task still: a place to kill the worker at.
  std::function<void()> between = [] {};

  /// Takes so many tasks. Throws amqp::Error if the broker is gone.
  void run(int tasks) {
    while (tasks > 0) {
      if (!held_.empty() && held_.begin()->first <= now()) {
        const amqp::Delivery message = std::move(held_.extract(held_.begin()).mapped());
        set_prefetch();
        handle(message);
        --tasks;
      } else if (auto message = broker_.next(time_to_wait())) {
        if (const std::optional<Time> due = due_later(*message)) {
          held_.emplace(*due, std::move(*message));
          set_prefetch();
        } else {
          handle(*message);
          --tasks;
        }
      }
    }
  }

 protected:
  virtual void handle(const amqp::Delivery& message) {
    publish_what_takes_its_place(message);
    broker_.confirm();  // the broker has what takes the task's place,
    between();
    broker_.acknowledge(message);  // so it may forget the task
  }

  void publish_what_takes_its_place(const amqp::Delivery& message) {
    Task task = unread_task(message);
    try {
      task = read_task(message);
      check_chain(task);
      replace(task, execute(task));
    } catch (const Retry& retry) {
      replace_by_itself(task, retry);
    } catch (const Malformed& malformed) {
      replace(task, failure({"DecodeError", malformed.what(), "kombu.exceptions"}));
    } catch (const TaskError& error) {
      replace(task, failure(error));
    }
  }

  amqp::Connection broker_;

 private:
  /// The broker may send one message besides those that are held, the task to be executed. Others get the next one.
  void set_prefetch() { broker_.prefetch(static_cast<std::uint16_t>(std::min<std::size_t>(held_.size() + 1, 65'535))); }

  /// Whatever the task throws becomes its result, too; but not Retry.
  Result execute(const Task& task) const {
    if (!task.unknown.empty()) return failure({"NotImplementedError", task.unknown});
    if (task.time_limit || task.soft_limit) return failure({"NotImplementedError", "time limits"});
    if (task.expires && *task.expires < now()) return revocation("expired");
    try {
      return {"SUCCESS", checked(registry_.at(task.name)(task))};
    } catch (const Retry&) {
      throw;
    } catch (const TaskError& error) {
      return failure(error);
    } catch (const std::exception& error) {
      return failure({"RuntimeError", error.what()});
    } catch (...) {
      return failure({"RuntimeError", "an exception of unknown type"});
    }
  }

  /// The next task of the chain takes its place; after a failure, and at the end of the chain, results.
  void replace(const Task& task, const Result& result) {
    if (result.status == "SUCCESS" && !task.chain.empty()) {
      note(task, described(next_in_chain(task, result.value).task));
    } else {
      note(task, "result " + (result.status == "SUCCESS" ? shown(result.value) : result.traceback));
    }
    publish_with_chain(broker_, task, result);
  }

  /// The same task takes its place, with one retry more, and is due later.
  void replace_by_itself(const Task& task, const Retry& retry) {
    if (task.retries >= retry.max_retries || !(retry.after_seconds >= 0 && retry.after_seconds < 1e9)) {
      return replace(task, failure({"MaxRetriesExceededError", retry.why, "celery.exceptions"}));
    }
    Task again = task;
    ++again.retries;
    again.eta = after(retry.after_seconds);
    note(task, fmt::format("{} in {} ms", described(again), std::lround(1e3 * retry.after_seconds)));
    publish(broker_, "celery", again);
  }

  static std::string described(const Task& task) {
    std::string text;
    for (const json::value& argument : task.args) text += (text.empty() ? "" : ", ") + shown(argument);
    text = task.name + '(' + text + ')';
    if (task.retries > 0) text += fmt::format(", retry {}", task.retries);
    if (!task.chain.empty()) text += fmt::format(", then {} more", task.chain.size());
    return text;
  }

  static void note(const Task& task, const std::string& replacement) {
    cookbook::print_line(one_line(fmt::format("{:<30}{}", described(task), replacement)));
  }

  /// When a task is to be started, if that is not now.
  static std::optional<Time> due_later(const amqp::Message& message) {
    const json::object headers = headers_of(message);
    const json::value& eta = member(headers, "eta");
    const std::optional<Time> due = eta.is_string() ? from_iso(std::string(eta.get_string())) : std::nullopt;
    return due > now() ? due : std::nullopt;
  }

  std::chrono::milliseconds time_to_wait() const {
    const std::chrono::milliseconds longest(1000);
    if (held_.empty()) return longest;
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(held_.begin()->first - now()), {}, longest);
  }

  const Registry& registry_;
  std::multimap<Time, amqp::Delivery> held_;  ///< tasks that are not due yet, unacknowledged
};

}  // namespace celery
