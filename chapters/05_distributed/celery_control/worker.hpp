/// A worker that can be asked and told while its tasks run. It takes tasks of Celery from a broker, has them executed
/// by processes, and sends the results.
#pragma once

#include <csignal>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chain.hpp"
#include "cookbook/measure.hpp"
#include "inspection.hpp"
#include "pool.hpp"
#include "remote_control.hpp"

namespace celery {

inline volatile std::sig_atomic_t stop_wanted = 0;

struct Settings {
  std::string url;                               ///< of the broker
  std::string node;                              ///< the worker's name, which no other worker of the broker has
  std::vector<std::string> queues = {"celery"};  ///< to take tasks from
  int concurrency = 2;                           ///< processes that execute tasks
  int prefetch = 4;                              ///< messages taken ahead per process
  bool quiet = false;                            ///< no line per task
};

class Worker {
 public:
  Worker(Settings settings, const Registry& registry)
      : settings_(std::move(settings)), registry_(registry), control_(settings_.node, methods()) {
    std::signal(SIGTERM, [](int) { stop_wanted = 1; });
  }

  /// Works until SIGTERM comes, or until `celery control shutdown`, and lets running tasks finish. Makes a new
  /// connection when one is lost. Throws amqp::Error if there is no first one, or after a hundred attempts.
  void run() {
    for (int failures = 0; !stop_wanted; ++failures) {
      const cookbook::Stopwatch watch;
      try {
        connect();
        serve();
        return;
      } catch (const amqp::Error& error) {
        if (!pool_ || failures == 100) throw;
        if (watch.seconds() > 10) failures = 0;
        const double pause = std::min(0.1 + 0.3 * failures, 5.0);
        cookbook::complain(fmt::format("{}; trying again in {:.1f} s", error.what(), pause));
        for (const Time end = after(pause); now() < end && !stop_wanted;) poll(nullptr, 0, 50);
      }
    }
  }

 private:
  // A task's way through the worker, one function for each step:
  //   receive      checks it, and puts it into waiting_, or into held_ until its countdown ends
  //   start_tasks  gives it to an idle process, or completes it at once if it was revoked or has expired
  //   finish       publishes what takes its place: its result, the next task of its chain, or the same task once more
  //   acknowledge  acknowledges it when the broker has confirmed that message, and not before: if the worker dies
  //                earlier, the broker delivers the task again
  // Meanwhile it is in unacknowledged_, where replaced() notes the number of the message that takes its place.

  void serve() {
    bool stopping = false;
    while (!stopping || !pool_->all_idle()) {
      if (stop_wanted && !stopping) {
        stopping = true;
        for (const std::string& queue : settings_.queues) broker_->stop_consuming(queue);
        waiting_.clear();  // the broker still has them, and gives them to another worker
        held_.clear();
      }
      for (const Done& done : pool_->wait(broker_->socket(), time_to_sleep())) finish(done);
      for (int turn = 0; turn < 64; ++turn) {  // then look after the tasks again, however many messages come
        auto message = broker_->next(std::chrono::milliseconds(0));
        if (!message) break;
        if (message->queue == control_.queue())
          control_.answer(*message);
        else if (!stopping)
          receive(std::move(*message));
      }
      start_tasks();
      acknowledge();
      if (now() >= next_heartbeat_) tell_of_worker("worker-heartbeat");
    }
    broker_->confirm();
    acknowledge();
    tell_of_worker("worker-offline");
    broker_->confirm();
    log("Stopped.");
  }

  void connect() {
    broker_.emplace(settings_.url, 10);
    control_.listen(*broker_);
    broker_->declare_queue(dead_letters);
    // What an earlier connection delivered is no longer this worker's: the broker delivers it again. So the processes
    // that still execute it are replaced.
    pool_.emplace(settings_.concurrency, registry_);
    waiting_.clear();
    held_.clear();
    unacknowledged_.clear();
    set_prefetch();
    for (const std::string& queue : settings_.queues) {
      declare_task_queue(*broker_, queue);
      broker_->consume(queue);
    }
    tell_of_worker("worker-online");
    log("{} ready.", settings_.node);
  }

  void receive(amqp::Delivery message) {
    unacknowledged_[message.tag] = std::nullopt;
    Job job = {std::move(message), {}};
    job.task = {.name = "?", .id = job.message.correlation_id, .reply_to = job.message.reply_to};  // until it is read
    try {
      job.task = read_task(job.message);
      const Task& task = job.task;
      log("Received task: {}{}", title(task), job.message.redelivered ? ", which was delivered before" : "");
      control_.tell_of_task("task-received", task, [&] { return details_of(task); });
      registry_.at(task.name);
      if (!task.unknown.empty()) throw TaskError("NotImplementedError", task.unknown);
      check_chain(task);
    } catch (const Malformed& malformed) {
      return refuse(job, {"DecodeError", malformed.what(), "kombu.exceptions"});
    } catch (const TaskError& error) {
      return refuse(job, error);
    }
    if (job.task.eta && *job.task.eta > now()) {
      const Time due = *job.task.eta;
      held_.emplace(due, std::move(job));
      set_prefetch();
    } else {
      waiting_.push_back(std::move(job));
    }
  }

  void refuse(const Job& job, const TaskError& error) {
    keep_aside(*broker_, job.message, error);
    replaced(job, answer(job.task, failure(error)));
  }

  void start_tasks() {
    const std::size_t held = held_.size();
    for (; !held_.empty() && held_.begin()->first <= now(); held_.erase(held_.begin())) {
      waiting_.push_back(std::move(held_.begin()->second));
    }
    if (held_.size() != held) set_prefetch();
    for (; !waiting_.empty(); waiting_.pop_front()) {
      Job& job = waiting_.front();
      const bool revoked = revoked_.contains(job.task.id), expired = job.task.expires && *job.task.expires < now();
      if (revoked || expired) {
        log("Task {} is not started, since it {}", title(job.task), revoked ? "was revoked" : "has expired");
        complete(job, revocation(revoked ? "revoked" : "expired"));
        control_.tell_of_task("task-revoked", job.task, [&] {
          return json::object{{"terminated", false}, {"signum", nullptr}, {"expired", expired}};
        });
      } else if (Pool::Process* process = pool_->idle()) {
        control_.tell_of_task("task-started", job.task);
        Pool::execute(*process, std::move(job));
      } else {
        break;
      }
    }
  }

  void finish(const Done& done) {
    const Task& task = done.job.task;
    if (const auto* retry = std::get_if<Retry>(&done.outcome)) return try_again(done.job, *retry);
    const Result& result = std::get<Result>(done.outcome);
    if (result.status == "SUCCESS") {
      log("Task {} succeeded in {:.6f} s: {}", title(task), done.seconds, shown(result.value));
      control_.tell_of_task("task-succeeded", task, [&] {
        return json::object{{"result", shown(result.value)}, {"runtime", done.seconds}};
      });
    } else if (result.status == "REVOKED") {
      log("Task {} was terminated", title(task));
      control_.tell_of_task("task-revoked", task, [] {
        return json::object{{"terminated", true}, {"signum", SIGKILL}, {"expired", false}};
      });
    } else {
      log("Task {} failed: {}", title(task), result.traceback);
      control_.tell_of_task("task-failed", task, [&] {
        return json::object{{"exception", result.traceback}, {"traceback", result.traceback}};
      });
    }
    ++executed_[task.name];
    complete(done.job, result);
  }

  void try_again(const Job& job, const Retry& retry) {
    log("Task {} is to be tried again in {} s: {}", title(job.task), retry.after_seconds, retry.why);
    control_.tell_of_task("task-retried", job.task, [&] {
      return json::object{{"exception", retry.why}, {"traceback", nullptr}};
    });
    Task again = job.task;
    ++again.retries;
    again.eta = after(retry.after_seconds);
    try {
      replaced(job, publish(*broker_, job.message.queue, again));
      publish_result(*broker_, job.task, failure({"Retry", retry.why, "celery.exceptions"}, "RETRY"));
    } catch (const std::invalid_argument& error) {  // the headers have become too large
      refuse(job, {"ValueError", error.what()});
    }
  }

  /// Sends the result, and posts the next task of the chain.
  void complete(const Job& job, const Result& result) {
    const Task& task = job.task;
    if (task.chain.empty() || result.status != "SUCCESS") return replaced(job, answer(task, result));
    publish_result(*broker_, task, result);
    const auto fail = [&](const TaskError& error) { replaced(job, fail_chain(*broker_, task, failure(error))); };
    try {
      const Next next = next_in_chain(task, result.value);
      const std::uint64_t number = publish(*broker_, next.queue, next.task, amqp::Unrouted::error);
      broker_->confirm();  // is there a queue for it?
      replaced(job, number);
    } catch (const amqp::Unroutable& error) {
      fail({"QueueNotFound", error.what(), "celery.exceptions"});
    } catch (const std::invalid_argument& error) {  // the headers have become too large
      fail({"ValueError", error.what()});
    }
  }

  /// Sends the result of a task. If that is no success, the tasks that should have followed it have the same result.
  /// Returns the number of the last message, 0 if nobody wants to know.
  std::uint64_t answer(const Task& task, const Result& result) {
    const std::uint64_t own = publish_result(*broker_, task, result);
    return result.status == "SUCCESS" ? own : std::max(own, fail_chain(*broker_, task, result));
  }

  /// The message with this number takes the task's place; 0: no message is needed.
  void replaced(const Job& job, std::uint64_t number) { unacknowledged_[job.message.tag] = number; }

  /// One acknowledgement can speak for all messages up to its own, if all of those are done.
  void acknowledge() {
    std::uint64_t up_to = 0;
    for (auto one = unacknowledged_.begin(); one != unacknowledged_.end();) {
      const auto& [tag, number] = *one;
      if (!number || !broker_->is_confirmed(*number)) {
        ++one;
        continue;
      }
      if (one == unacknowledged_.begin())
        up_to = tag;
      else
        broker_->acknowledge(tag, amqp::Acknowledged::this_one);
      one = unacknowledged_.erase(one);
    }
    if (up_to != 0) broker_->acknowledge(up_to, amqp::Acknowledged::up_to_this_one);
  }

  /// A task with a countdown stays unacknowledged for long, so each adds one to what the broker may send.
  std::uint16_t allowance() const {
    const std::size_t own = static_cast<std::size_t>(settings_.prefetch) * pool_->processes().size();
    return static_cast<std::uint16_t>(std::min<std::size_t>(65'535, own + held_.size()));
  }
  void set_prefetch() { broker_->prefetch(allowance()); }

  std::chrono::milliseconds time_to_sleep() const {
    if (broker_->has_read_ahead()) return {};
    const std::chrono::milliseconds longest(100);  // for SIGTERM, time limits and heartbeats
    if (held_.empty()) return longest;
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(held_.begin()->first - now()), {}, longest);
  }

  static Result revocation(const std::string& why) {
    return failure({"TaskRevokedError", why, "celery.exceptions"}, "REVOKED");
  }

  // What `celery inspect` and `celery control` ask.

  std::map<std::string, RemoteControl::Method> methods() {
    const auto ok = [](const std::string& text) { return json::object{{"ok", text}}; };
    return {
        {"ping", [=](const auto&) { return ok("pong"); }},
        {"hello",
         [this](const auto&) {
           return json::object{{"clock", control_.clock()}, {"revoked", json::object()}};
         }},
        {"registered", [this](const auto&) { return registered(registry_); }},
        {"active", [this](const auto&) { return active(*pool_, settings_.node); }},
        {"reserved", [this](const auto&) { return reserved(waiting_, held_, settings_.node); }},
        {"scheduled", [this](const auto&) { return scheduled(held_, settings_.node); }},
        {"revoked", [this](const auto&) { return json::value_from(revoked_); }},
        {"active_queues", [this](const auto&) { return active_queues(settings_.queues); }},
        {"stats", [this](const auto&) { return statistics(); }},
        {"revoke", [=, this](const json::value& arguments) { return revoke(arguments), ok("revoked"); }},
        {"enable_events", [=, this](const auto&) { return control_.task_events = true, ok("task events enabled"); }},
        {"disable_events", [=, this](const auto&) { return control_.task_events = false, ok("task events disabled"); }},
        {"heartbeat", [=, this](const auto&) { return next_heartbeat_ = {}, ok("heartbeat"); }},
        {"shutdown", [=](const auto&) { return stop_wanted = 1, ok("shutting down"); }}};
  }

  void revoke(const json::value& arguments) {
    const json::value& ids = member(arguments, "task_id");
    for (const json::value& id : ids.is_array() ? ids.get_array() : json::array{ids}) {
      const std::string name = read_name(id, "task_id");
      revoked_.insert(name);
      if (member(arguments, "terminate") == json::value(true)) pool_->kill_task(name, revocation("terminated"));
    }
  }

  json::value statistics() const {
    json::array pids;
    for (const Pool::Process& process : pool_->processes()) pids.push_back(process.pid);
    const json::object pool = {
        {"implementation", "processes, C++"}, {"max-concurrency", settings_.concurrency}, {"processes", pids}};
    return {{"pid", getpid()},
            {"clock", std::to_string(control_.clock())},
            {"uptime", static_cast<std::int64_t>(since_start_.seconds())},
            {"prefetch_count", allowance()},
            {"total", json::value_from(executed_)},
            {"pool", pool}};
  }

  void tell_of_worker(const std::string& what) {
    std::int64_t processed = 0, active = 0;
    for (const auto& [name, count] : executed_) processed += count;
    for (const Pool::Process& process : pool_->processes()) active += process.job.has_value();
    control_.tell(what, {{"freq", 2},
                         {"active", active},
                         {"processed", processed},
                         {"loadavg", {0, 0, 0}},
                         {"sw_ident", "celery_worker"},
                         {"sw_ver", "1.0.0"},
                         {"sw_sys", "Linux"}});
    next_heartbeat_ = after(2);
  }

  static std::string title(const Task& task) { return task.name + "[" + task.id + "]"; }

  template <typename... Values>
  void log(fmt::format_string<Values...> format, Values&&... values) const {
    if (!settings_.quiet) cookbook::print_line(one_line(fmt::format(format, std::forward<Values>(values)...)));
  }

  const Settings settings_;
  const Registry& registry_;
  RemoteControl control_;
  std::optional<amqp::Connection> broker_;
  std::optional<Pool> pool_;
  std::deque<Job> waiting_;        ///< for a process
  std::multimap<Time, Job> held_;  ///< not before their time
  /// The broker's number of each task's message; that of the message that takes its place, if it is done.
  std::map<std::uint64_t, std::optional<std::uint64_t>> unacknowledged_;
  std::set<std::string> revoked_;
  std::map<std::string, std::int64_t> executed_;
  Time next_heartbeat_ = {};
  const cookbook::Stopwatch since_start_;
};

}  // namespace celery
