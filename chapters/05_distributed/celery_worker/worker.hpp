/// A worker for tasks of Celery: takes them from a queue, executes them one after the other, and sends the results.
#pragma once

#include <csignal>
#include <string>

#include "celery/chain.hpp"
#include "celery/registry.hpp"

namespace celery {

inline volatile std::sig_atomic_t stop_wanted = 0;

/// Throws TaskError if the task asks for what this worker cannot do. It must not be ignored in silence.
inline void refuse_what_is_not_implemented(const Task& task) {
  const auto refuse = [](const std::string& what) { throw TaskError("NotImplementedError", what); };
  if (task.eta) refuse("eta and countdown");
  if (task.time_limit || task.soft_limit) refuse("time limits");
  if (!task.chain.empty()) refuse("chains");
  if (!task.unknown.empty()) refuse(task.unknown);
}

/// Executes a task. Whatever its function throws becomes a result, too.
inline Result execute(const Registry::Function& function, const Task& task) {
  if (task.expires && *task.expires < now()) {
    return revocation("expired");
  }
  try {
    return {"SUCCESS", checked(function(task))};
  } catch (const TaskError& error) {
    return failure(error);
  } catch (const std::exception& error) {
    return failure({"RuntimeError", error.what()});
  } catch (...) {
    return failure({"RuntimeError", "an exception of unknown type"});
  }
}

/// Executes the task in a message and sends the result.
inline void handle(amqp::Connection& broker, const Registry& registry, const amqp::Delivery& message) {
  Task task = unread_task(message);
  const auto refuse = [&](const TaskError& error) {
    keep_aside(broker, message, error);
    publish_result(broker, task, failure(error));
    fail_chain(broker, task, failure(error));  // the client of a chain waits for the last of its tasks
  };
  try {
    task = read_task(message);
    refuse_what_is_not_implemented(task);
    const Registry::Function& function = registry.at(task.name);  // throws NotRegistered if there is none
    publish_result(broker, task, execute(function, task));
  } catch (const Malformed& malformed) {
    refuse({"DecodeError", malformed.what(), "kombu.exceptions"});  // kombu is Celery's messaging library
  } catch (const TaskError& error) {
    refuse(error);
  }
}

/// Works until SIGTERM comes, for which it looks ten times per second while it has no task. Throws amqp::Error if there
/// is no broker, or no longer.
inline void work(const std::string& url, const Registry& registry, const std::string& queue = "celery",
                 std::uint16_t prefetch = 4) {
  using namespace std::chrono_literals;
  std::signal(SIGTERM, [](int) { stop_wanted = 1; });
  amqp::Connection broker(url);
  declare_task_queue(broker, queue);
  broker.declare_queue(dead_letters);
  broker.prefetch(prefetch);  // the broker sends so many tasks ahead of their acknowledgement
  broker.consume(queue);
  while (!stop_wanted) {
    std::uint64_t last = 0;
    // The first wait is for a task; the others take only what the broker has sent already, at most `prefetch` tasks.
    for (auto message = broker.next(100ms); message && !stop_wanted; message = broker.next(0ms)) {
      handle(broker, registry, *message);
      last = message->tag;
    }
    if (last == 0) continue;
    broker.confirm();                                              // the broker has the results,
    broker.acknowledge(last, amqp::Acknowledged::up_to_this_one);  // so it may forget these tasks, all at once
  }
}

}  // namespace celery
