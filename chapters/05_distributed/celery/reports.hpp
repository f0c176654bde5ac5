/// What a worker tells of itself: the lines of its log, the events that monitors read, and the answers to the questions
/// of `celery inspect`. To understand the worker, you need not read this.
#pragma once

#include <csignal>
#include <set>

#include "celery/inspection.hpp"
#include "celery/remote_control.hpp"
#include "cookbook/measure.hpp"

namespace celery {

class Reports {
 public:
  /// The worker's data that the answers show.
  struct Shown {
    const Registry& registry;
    const std::string& url;
    const std::vector<std::string>& queues;
    const std::optional<Pool>& pool;
    const std::deque<Job>& waiting;
    const std::multimap<Time, Job>& held;
    const std::set<std::string>& revoked;
    const std::uint16_t& prefetch;
  };

  Reports(RemoteControl& control, bool quiet, Shown worker) : control_(control), quiet_(quiet), worker_(worker) {
    answer_questions();
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  void online() {
    tell_of_worker("worker-online");
    log("{} ready.", control_.node());
  }
  void heartbeat_if_due() {
    if (now() >= next_heartbeat_) tell_of_worker("worker-heartbeat");
  }
  void offline() { tell_of_worker("worker-offline"); }
  void stopped() const { log("Stopped."); }

  void received(const Job& job) {
    log("Received task: {}{}", title(job.task), job.message.redelivered ? ", which was delivered before" : "");
    control_.tell_of_task("task-received", job.task, [&] { return details_of(job.task); });
  }

  /// The worker does not execute it.
  void refused(const Task& task, const TaskError& why) {
    tell_of_end("task-failed", task, {{"exception", why.type + ": " + why.what()}, {"traceback", nullptr}});
  }

  void started(const Task& task) { control_.tell_of_task("task-started", task); }

  /// `why`: "revoked" or "expired".
  void not_started(const Task& task, const std::string& why) {
    log("Task {} is not started: {}", title(task), why);
    tell_of_end("task-revoked", task, {{"terminated", false}, {"signum", nullptr}, {"expired", why == "expired"}});
  }

  void retried(const Task& task, const Retry& retry) {
    log("Task {} is to be tried again in {} s: {}", title(task), retry.after_seconds, retry.why);
    tell_of_end("task-retried", task, {{"exception", retry.why}, {"traceback", nullptr}});
  }

  void ended(const Task& task, const Result& result, double seconds) {
    ++executed_[task.name];
    if (result.status == "SUCCESS") {
      log("Task {} succeeded in {:.6f} s: {}", title(task), seconds, shown(result.value));
      control_.tell_of_task("task-succeeded", task, [&] {
        return json::object{{"result", shown(result.value)}, {"runtime", seconds}};
      });
    } else if (result.status == "REVOKED") {
      log("Task {} was terminated", title(task));
      tell_of_end("task-revoked", task, {{"terminated", true}, {"signum", SIGKILL}, {"expired", false}});
    } else {
      log("Task {} failed: {}", title(task), result.traceback);
      tell_of_end("task-failed", task, {{"exception", result.traceback}, {"traceback", result.traceback}});
    }
  }

 private:
  void answer_questions() {
    control_.on("ping", [](const auto&) { return ok("pong"); });
    control_.on("hello", [this](const auto&) {
      return json::object{{"clock", control_.clock()}, {"revoked", json::object()}};
    });
    control_.on("registered", [this](const auto&) { return registered(worker_.registry); });
    control_.on("active", [this](const auto&) { return active(*worker_.pool, control_.node()); });
    control_.on("reserved", [this](const auto&) { return reserved(worker_.waiting, control_.node()); });
    control_.on("scheduled", [this](const auto&) { return scheduled(worker_.held, control_.node()); });
    control_.on("revoked", [this](const auto&) { return json::value_from(worker_.revoked); });
    control_.on("active_queues", [this](const auto&) { return active_queues(worker_.queues); });
    control_.on("stats", [this](const auto&) { return statistics(); });
    control_.on("enable_events", [this](const auto&) {
      control_.task_events = true;
      return ok("task events enabled");
    });
    control_.on("disable_events", [this](const auto&) {
      control_.task_events = false;
      return ok("task events disabled");
    });
    control_.on("heartbeat", [this](const auto&) {
      next_heartbeat_ = {};
      return ok("heartbeat");
    });
  }

  json::value statistics() const {
    json::array pids;
    for (const Pool::Process& process : worker_.pool->processes()) pids.push_back(process.pid);
    const json::object pool = {
        {"implementation", "processes, C++"}, {"max-concurrency", pids.size()}, {"processes", pids}};
    return {{"pid", getpid()},
            {"clock", std::to_string(control_.clock())},
            {"uptime", static_cast<std::int64_t>(since_start_.seconds())},
            {"broker", broker_info(worker_.url)},
            {"prefetch_count", worker_.prefetch},
            {"total", json::value_from(executed_)},
            {"pool", pool}};
  }

  void tell_of_worker(const std::string& what) {
    std::int64_t processed = 0, active = 0;
    for (const auto& [name, count] : executed_) processed += count;
    for (const Pool::Process& process : worker_.pool->processes()) active += process.job.has_value();
    control_.tell(what, {{"freq", 2},
                         {"active", active},
                         {"processed", processed},
                         {"loadavg", {0, 0, 0}},
                         {"sw_ident", "celery_worker"},
                         {"sw_ver", "1.0.0"},
                         {"sw_sys", "Linux"}});
    next_heartbeat_ = after(2);
  }

  void tell_of_end(const std::string& type, const Task& task, const json::object& details) {
    control_.tell_of_task(type, task, [&] { return details; });
  }

  static std::string title(const Task& task) { return task.name + "[" + task.id + "]"; }

  template <typename... Values>
  void log(fmt::format_string<Values...> format, Values&&... values) const {
    if (!quiet_) cookbook::print_line(one_line(fmt::format(format, std::forward<Values>(values)...)));
  }

  RemoteControl& control_;
  const bool quiet_;
  const Shown worker_;
  std::map<std::string, std::int64_t> executed_;  ///< how many tasks of each name
  Time next_heartbeat_ = {};
  const cookbook::Stopwatch since_start_;
};

}  // namespace celery
