/// The worker's side of the task queue.
#pragma once

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

// What a worker can do: functions of two whole numbers. A task comes from outside, so each function checks its
// arguments: a task whose result is wrong would be acknowledged all the same, and never be done again, and a sleep of a
// year would keep the worker from all other tasks.

inline long add(long x, long y) {
  long sum;
  if (__builtin_add_overflow(x, y, &sum)) throw std::invalid_argument("the sum has more than 64 bits");
  return sum;
}

inline long multiply(long x, long y) {
  long product;
  if (__builtin_mul_overflow(x, y, &product)) throw std::invalid_argument("the product has more than 64 bits");
  return product;
}

inline long sleep_and_return(long ms, long result) {
  if (ms < 0 || ms > 10'000) throw std::invalid_argument("sleep takes 0 to 10000 ms");
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return result;
}

inline const std::map<std::string, std::function<long(long, long)>> functions = {
    {"add", add}, {"multiply", multiply}, {"sleep", sleep_and_return}};

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
    const std::string& url, const std::function<void(const amqp::Delivery&)>& before_task = [](const auto&) {},
    amqp::Acknowledgement acknowledgement = amqp::Acknowledgement::manual) {
  std::signal(SIGTERM, [](int) { stop_wanted = 1; });
  amqp::Connection connection(url);
  declare_queues(connection);
  connection.prefetch(1);  // manual: the broker sends the next task when this one has been acknowledged
  connection.consume(tasks_queue, acknowledgement);
  const bool late = acknowledgement == amqp::Acknowledgement::manual;  // else the broker has forgotten it already
  while (!stop_wanted) {
    const auto delivery = connection.next(std::chrono::milliseconds(100));
    if (!delivery) continue;
    before_task(*delivery);
    amqp::Message answer = {.correlation_id = delivery->correlation_id};
    try {
      answer.body = std::to_string(execute(delivery->body));
      connection.publish("", delivery->reply_to, answer);
      connection.confirm();                         // the broker has it, or the client's queue is gone,
      if (late) connection.acknowledge(*delivery);  // so the broker may forget the task
    } catch (const std::invalid_argument& error) {
      answer.body = std::string("failed: ") + error.what();
      connection.publish("", delivery->reply_to, answer);
      connection.confirm();
      if (late) connection.reject(*delivery);  // kept aside, in tasks.failed
    }
  }
}
