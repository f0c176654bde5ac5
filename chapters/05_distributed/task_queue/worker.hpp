/// A worker: takes tasks from the broker, has them run by its threads, sends results, acknowledges late.
#pragma once

#include <poll.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "acknowledgements.hpp"
#include "connection.hpp"
#include "control.hpp"
#include "executor.hpp"

namespace task_queue {

struct Settings {
  std::string node;                 ///< the worker's name, unique among those of the broker
  std::vector<std::string> queues;  ///< to take tasks from
  int concurrency = 2;              ///< threads that run tasks
  int prefetch = 4;                 ///< messages that may be here unacknowledged, for each thread
  long max_body = 1 << 20;          ///< bytes of the body of a message
  bool quiet = false;               ///< no line for each task
};

class Worker {
 public:
  /// `stop_signal` is readable when the worker shall end.
  Worker(Settings settings, const Registry& registry, int stop_signal)
      : settings_(std::move(settings)),
        registry_(registry),
        control_(settings_.node, {{"ping",
                                   [] {
                                     return json::object{{"ok", "pong"}};
                                   }},
                                  {"registered", [this] { return registered(); }},
                                  {"stats", [this] { return statistics(); }}}),
        stop_signal_(stop_signal),
        executor_(settings_.concurrency, registry) {}

  /// Works over one connection, until it is lost (throws Lost) or until SIGTERM has come and the last task is done.
  void serve(Connection& connection) {
    begin(connection);
    cookbook::println("{} ready.", control_.node());
    while (!(stopping_ && executor_.idle() && !acknowledgements_.any_moving())) {
      wait(connection);
      for (int turn = 0; turn < 64; ++turn) {  // then look after the tasks again, however many messages come
        const auto event = connection.next(std::chrono::microseconds(0));
        if (!event) break;
        handle(connection, *event);
      }
      for (Done& done : executor_.finished()) finish(connection, done);
      start_held(connection);
      acknowledgements_.send(connection);
    }
  }

  bool stopping() const { return stopping_; }

  /// Sleeps until SIGTERM comes or the time is over.
  void pause(double seconds) {
    pollfd stop = {stop_signal_, POLLIN, 0};
    if (poll(&stop, 1, static_cast<int>(1000 * seconds)) > 0) stopping_ = true;
  }

 private:
  void begin(Connection& connection) {
    // What an earlier connection delivered is no longer this worker's: the broker has it back, and delivers it again.
    ++session_;
    executor_.forget_waiting();
    held_.clear();
    acknowledgements_ = {};

    acknowledgements_.prepare(connection);
    connection.declare_task_queue(dead_letters);
    control_.listen(connection);
    connection.prefetch(allowance());
    for (const std::string& queue : settings_.queues) {
      connection.declare_task_queue(queue);
      connection.consume(queue, true);
    }
  }

  /// The main thread sleeps only here. The time limit is for heartbeats and for tasks that are held.
  void wait(Connection& connection) {
    pollfd ready[] = {{connection.socket(), POLLIN, 0},
                      {executor_.descriptor(), POLLIN, 0},
                      {stopping_ ? -1 : stop_signal_, POLLIN, 0}};
    int timeout_ms = connection.has_read_ahead() ? 0 : 1000;
    if (!held_.empty()) {
      const auto due =
          std::chrono::ceil<std::chrono::milliseconds>(held_.begin()->first - std::chrono::system_clock::now());
      timeout_ms = std::clamp(static_cast<int>(std::min<long>(due.count(), timeout_ms)), 0, timeout_ms);
    }
    if (poll(ready, 3, timeout_ms) < 0 && errno != EINTR) cookbook::system_refused("poll");
    if (ready[2].revents == 0) return;
    cookbook::println("Stopping: running tasks finish, waiting ones stay with the broker.");
    stopping_ = true;
    for (const std::string& queue : settings_.queues) connection.stop_consuming(queue);
    executor_.forget_waiting();
    held_.clear();
  }

  void handle(Connection& connection, const Event& event) {
    if (const auto* delivery = std::get_if<Delivery>(&event)) {
      if (delivery->consumer == control_.queue()) return control_.answer(connection, delivery->message);
      acknowledgements_.delivered(delivery->tag);
      if (!stopping_) receive(connection, *delivery);
      return;
    }
    acknowledgements_.confirmed(std::get<Confirmed>(event));
  }

  void receive(Connection& connection, const Delivery& delivery) try {
    const Message& message = delivery.message;
    if (message.body.size() > static_cast<std::size_t>(settings_.max_body)) {
      throw Malformed(fmt::format("the body has {} bytes, {} are allowed", message.body.size(), settings_.max_body));
    }
    Job job = {session_, delivery.tag, delivery.consumer, decode(message)};
    log("Received task: {}{}", job.request.title(), delivery.redelivered ? ", which a worker had and left undone" : "");
    if (!registry_.tasks().contains(job.request.task)) {
      answer(connection, job.request, failure(job.request, {"NotRegistered", job.request.task, "celery.exceptions"}));
      return reject(connection, delivery, "no task of the name " + job.request.title() + " is registered");
    }
    if (job.request.eta && *job.request.eta > std::chrono::system_clock::now()) {
      const Time due = *job.request.eta;
      held_.emplace(due, std::move(job));
      connection.prefetch(allowance());
      return;
    }
    start(connection, std::move(job));
  } catch (const Malformed& malformed) {
    const Request unread = {"?", delivery.message.correlation_id, {}, {}, delivery.message.reply_to};
    answer(connection, unread, failure(unread, {"DecodeError", malformed.what(), "kombu.exceptions"}));
    reject(connection, delivery, malformed.what());
  }

  /// Keeps a message that cannot be executed where people can look at it. Celery's own declaration of the queue has no
  /// dead-letter exchange, and one with it would be refused as different, so the worker moves the message itself.
  void reject(Connection& connection, const Delivery& delivery, const std::string& why) {
    cookbook::complain(one_line(fmt::format("message moved to {}: {}", dead_letters, why)));
    Message dead = delivery.message;
    if (json::serialize(dead.headers).size() > 65'536) dead.headers.clear();  // they must fit into one frame
    dead.headers["rejected-from"] = delivery.consumer;
    dead.headers["rejected-because"] = why;
    acknowledgements_.move(connection, delivery.tag, dead_letters, dead);
  }

  void start(Connection& connection, Job job) {
    const Request& request = job.request;
    if (request.expires && *request.expires < std::chrono::system_clock::now()) {
      log("Task {} expired", request.title());
      answer(connection, request, failure(request, {"TaskRevokedError", "expired", "celery.exceptions"}, "REVOKED"));
      acknowledgements_.done(job.tag);
    } else if (request.has_canvas) {
      const TaskError error("NotImplementedError", "callbacks, chains and chords are not for this worker");
      answer(connection, request, failure(request, error));
      acknowledgements_.done(job.tag);
    } else {
      executor_.submit(std::move(job));
    }
  }

  void start_held(Connection& connection) {
    bool any = false;
    while (!held_.empty() && held_.begin()->first <= std::chrono::system_clock::now()) {
      start(connection, std::move(held_.begin()->second));
      held_.erase(held_.begin());
      any = true;
    }
    if (any) connection.prefetch(allowance());
  }

  void finish(Connection& connection, Done& done) {
    const Request& request = done.job.request;
    if (done.job.session != session_) {
      return log("Task {} is done, but its connection is lost: the broker will deliver it again", request.title());
    }
    if (const auto* retry = std::get_if<Retry>(&done.outcome)) {
      log("Task {} asks to be tried again in {} s: {}", request.title(), retry->after_seconds, retry->why);
      answer(connection, request, failure(request, {"Retry", retry->why, "celery.exceptions"}, "RETRY"));
      Request again = request;
      again.headers["retries"] = request.retries + 1;
      again.headers["eta"] = to_iso(std::chrono::system_clock::now() +
                                    std::chrono::milliseconds(static_cast<long>(1000 * retry->after_seconds)));
      return acknowledgements_.move(connection, done.job.tag, done.job.queue, encode(again));
    }
    const Result& result = std::get<Result>(done.outcome);
    if (result.status == "SUCCESS") {
      log("Task {} succeeded in {:.6f} s: {}", request.title(), done.seconds, shown(result.value));
    } else {
      const TaskError error = error_of(result);
      log("Task {} failed: {}: {}", request.title(), error.type, error.what());
    }
    ++executed_[request.task];
    answer(connection, request, result);
    acknowledgements_.done(done.job.tag);  // only now: late acknowledgement
  }

  void answer(Connection& connection, const Request& request, const Result& result) {
    if (request.reply_to.empty() || request.ignore_result) return;
    connection.publish("", request.reply_to, encode(result));
  }

  template <typename... Values>
  void log(fmt::format_string<Values...> format, Values&&... values) const {
    if (!settings_.quiet) cookbook::print_line(one_line(fmt::format(format, std::forward<Values>(values)...)));
  }

  /// A held task takes its place among the unacknowledged messages for long, so each adds one to what is allowed.
  std::uint16_t allowance() const {
    const std::size_t ahead =
        static_cast<std::size_t>(settings_.prefetch) * static_cast<std::size_t>(settings_.concurrency);
    return static_cast<std::uint16_t>(std::min<std::size_t>(65'535, ahead + held_.size()));
  }

  json::value registered() const {
    json::array names;
    for (const auto& [name, task] : registry_.tasks()) names.push_back(json::value(name));
    return names;
  }

  json::value statistics() const {
    json::object total;
    for (const auto& [name, count] : executed_) total[name] = count;
    return {{"pid", getpid()},
            {"pool", {{"max-concurrency", settings_.concurrency}}},
            {"prefetch_count", allowance()},
            {"total", total}};
  }

  const Settings settings_;
  const Registry& registry_;
  const Control control_;
  const int stop_signal_;
  bool stopping_ = false;
  long session_ = 0;
  std::multimap<Time, Job> held_;  ///< not before their time
  Acknowledgements acknowledgements_;
  std::map<std::string, long> executed_;
  Executor executor_;
};

}  // namespace task_queue
