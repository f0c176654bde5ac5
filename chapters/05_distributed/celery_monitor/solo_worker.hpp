/// A worker that executes its tasks itself, as Python's does with --pool solo.
#pragma once

#include <chrono>
#include <string>

#include "celery/message.hpp"
#include "celery/registry.hpp"
#include "celery/remote_control.hpp"

/// Takes tasks from the queue `alone`. One loop serves tasks and questions, so it reads a question only between two
/// tasks. It works until it is killed.
inline void work_alone(const std::string& url, const celery::Registry& registry) {
  amqp::Connection broker(url);
  celery::declare_task_queue(broker, "alone");
  broker.prefetch(1);
  broker.consume("alone");

  using celery::json::array, celery::json::value;
  celery::RemoteControl control("alone@here");
  control.on("ping", [](const value&) { return celery::ok("pong"); });
  control.on("active", [](const value&) { return array(); });  // while it answers, no task runs
  control.listen(broker);                                      // to the questions, in alone@here.celery.pidbox
  control.task_events = true;
  control.tell("worker-online", {});

  while (true) {
    const auto message = broker.next(std::chrono::seconds(1));
    if (!message) continue;
    if (message->queue == control.queue()) {
      control.answer(*message);
    } else {
      const celery::Task task = celery::read_task(*message);
      control.tell_of_task("task-started", task);
      celery::publish_result(broker, task, {"SUCCESS", registry.at(task.name)(task)});  // executes it
      broker.confirm();
      broker.acknowledge(*message);
    }
  }
}
