/// The worker's side of the task queue.
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "amqp.hpp"

inline const std::string tasks_queue = "tasks", failed_queue = "tasks.failed";

inline void declare_queues(amqp::Connection& connection) {
  connection.declare_queue(failed_queue);
  connection.declare_queue(tasks_queue, {.dead_letters = failed_queue});  // rejected messages go to tasks.failed
}

/// What a worker can do: functions of two whole numbers, by name.
inline const std::map<std::string, std::function<long(long, long)>> functions = {
    {"add", [](long x, long y) { return x + y; }},
    {"multiply", [](long x, long y) { return x * y; }},
    {"sleep", [](long ms, long result) { return std::this_thread::sleep_for(std::chrono::milliseconds(ms)), result; }}};

/// Executes a task such as "add 5 5". Throws std::invalid_argument if the text is no task that a worker can do.
inline long execute(const std::string& task) {
  std::istringstream words(task);
  std::string name, rest;
  long x = 0, y = 0;
  if (!(words >> name >> x >> y) || words >> rest)
    throw std::invalid_argument("this is no task: " + task.substr(0, 60));
  const auto function = functions.find(name);
  if (function == functions.end()) throw std::invalid_argument("no function is called " + name);
  return function->second(x, y);
}

inline volatile std::sig_atomic_t stop_wanted = 0;

/// Takes tasks from the broker at `url` until SIGTERM comes. `before_task` is called when a task has been taken.
inline void work(
    const std::string& url, const std::function<void(const amqp::Delivery&)>& before_task = [](const auto&) {}) {
  std::signal(SIGTERM, [](int) { stop_wanted = 1; });
  amqp::Connection connection(url);
  declare_queues(connection);
  connection.prefetch(1);  // the broker sends the next task when this one has been acknowledged, not before
  connection.consume(tasks_queue);
  while (!stop_wanted) {
    const auto delivery = connection.next(std::chrono::milliseconds(100));
    if (!delivery) continue;
    before_task(*delivery);
    amqp::Message answer = {.correlation_id = delivery->correlation_id};
    try {
      answer.body = fmt::format("{} by process {}", execute(delivery->body), getpid());
      connection.publish("", delivery->reply_to, answer);
      connection.confirm();               // the answer is safe with the broker,
      connection.acknowledge(*delivery);  // so the broker may forget the task
    } catch (const std::invalid_argument& error) {
      answer.body = std::string("failed: ") + error.what();
      connection.publish("", delivery->reply_to, answer);
      connection.confirm();
      connection.reject(*delivery);  // kept aside, in tasks.failed
    }
  }
}
