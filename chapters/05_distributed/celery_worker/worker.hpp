/// A worker that takes tasks of Celery from a broker, has them executed, and sends the results.
#pragma once

#include <poll.h>

#include <csignal>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "control.hpp"
#include "pool.hpp"

namespace celery {

inline constexpr const char* dead_letters = "celery.dead";  ///< the queue for what no worker can execute
inline constexpr std::size_t max_body = 1 << 20;            ///< bytes of a message

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
      : settings_(std::move(settings)),
        registry_(registry),
        pool_(settings_.concurrency, registry),
        control_(settings_.node, methods()) {
    std::signal(SIGTERM, [](int) { stop_wanted = 1; });
  }

  /// Works until SIGTERM comes, or until `celery control shutdown`, and lets running tasks finish. Makes a new
  /// connection when one is lost. Throws amqp::Error if there is no first one, or after a hundred attempts.
  void run() {
    for (int failures = 0; !stop_wanted; ++failures) {
      const cookbook::Stopwatch watch;
      try {
        amqp::Connection broker(settings_.url, 10);
        serve(broker);
        return;
      } catch (const amqp::Error& error) {
        if (session_ == 0 || failures == 100) throw;
        if (watch.seconds() > 10) failures = 0;
        const double pause = std::min(0.1 + 0.3 * failures, 5.0);
        cookbook::complain(fmt::format("{}; trying again in {:.1f} s", error.what(), pause));
        for (const Time end = after(pause); now() < end && !stop_wanted;) poll(nullptr, 0, 50);
      }
    }
  }

 private:
  void serve(amqp::Connection& broker) {
    begin(broker);
    while (true) {
      if (stop_wanted && !stopping_) stop(broker);
      if (stopping_ && pool_.all_idle() && replaced_.empty()) break;
      wait(broker);
      for (int turn = 0; turn < 64; ++turn) {  // then look after the tasks again, however many messages come
        auto delivery = broker.next(std::chrono::milliseconds(0));
        if (!delivery) break;
        if (delivery->queue == control_.queue()) {
          control_.answer(broker, *delivery);
        } else {
          receive(broker, std::move(*delivery));
        }
      }
      for (Done& done : pool_.finished()) finish(broker, done);
      start_tasks(broker);
      acknowledge(broker);
      if (now() >= next_heartbeat_) tell_of_worker(broker, "worker-heartbeat");
    }
    acknowledge(broker);
    tell_of_worker(broker, "worker-offline");
    broker.confirm();
    log("Stopped.");
  }

  void begin(amqp::Connection& broker) {
    // What an earlier connection delivered is no longer this worker's: the broker delivers it again.
    waiting_.clear();
    held_.clear();
    unacknowledged_.clear();
    done_.clear();
    replaced_.clear();
    stopping_ = false;

    control_.listen(broker);
    broker.declare_queue(dead_letters);
    broker.prefetch(allowance());
    for (const std::string& queue : settings_.queues) {
      declare_task_queue(broker, queue);
      broker.consume(queue);
    }
    ++session_;
    tell_of_worker(broker, "worker-online");
    log("{} ready.", settings_.node);
  }

  void stop(amqp::Connection& broker) {
    stopping_ = true;
    for (const std::string& queue : settings_.queues) broker.stop_consuming(queue);
    waiting_.clear();  // the broker has them, and delivers them to another worker
    held_.clear();
  }

  /// The worker sleeps only here.
  void wait(amqp::Connection& broker) {
    std::vector<pollfd> ready = pool_.descriptors();
    ready.push_back({broker.socket(), POLLIN, 0});
    double seconds = 0.1;  // for SIGTERM, time limits and heartbeats
    if (!held_.empty()) seconds = std::clamp(timestamp(held_.begin()->first) - timestamp(), 0.0, seconds);
    if (broker.has_read_ahead()) seconds = 0;
    poll(ready.data(), ready.size(), static_cast<int>(std::ceil(1000 * seconds)));
  }

  void receive(amqp::Connection& broker, amqp::Delivery delivery) {
    unacknowledged_.insert(delivery.tag);
    if (stopping_) return;
    Job job = {session_, std::move(delivery), {}};
    job.task = {"?", job.delivery.correlation_id, {}, {}, job.delivery.reply_to};  // until it has been read
    try {
      if (job.delivery.body.size() > max_body) {
        throw Malformed(fmt::format("the body has {} bytes, {} are allowed", job.delivery.body.size(), max_body));
      }
      job.task = decode(job.delivery);
      const Task& task = job.task;
      log("Received task: {}{}", task.title(), job.delivery.redelivered ? ", which was delivered before" : "");
      control_.tell_of_task(broker, "task-received", task.id, event_of(job));
      if (!registry_.functions().contains(task.name)) throw TaskError("NotRegistered", task.name, "celery.exceptions");
      if (!task.not_implemented.empty()) throw TaskError("NotImplementedError", task.not_implemented);
      for (Task next = task; !next.chain.empty();) next = next_in_chain(next, nullptr);  // is it right to the end?
    } catch (const Malformed& malformed) {
      return refuse(broker, job, {"DecodeError", malformed.what(), "kombu.exceptions"});
    } catch (const TaskError& error) {
      return refuse(broker, job, error);
    }
    if (job.task.eta && *job.task.eta > now()) {
      const Time due = *job.task.eta;
      held_.emplace(due, std::move(job));
      broker.prefetch(allowance());
    } else {
      waiting_.push_back(std::move(job));
    }
  }

  /// Answers with an error, and keeps the message aside. (Celery's own declaration of the queue has no dead letters,
  /// and one with them would be refused as different. So the worker moves the message itself.)
  void refuse(amqp::Connection& broker, const Job& job, const TaskError& error) {
    cookbook::complain(one_line(fmt::format("message moved to {}: {}: {}", dead_letters, error.type, error.what())));
    answer(broker, job.task, failure(error));
    json::object headers = to_json(job.delivery.headers);
    headers["rejected-because"] = error.what();
    std::uint64_t number;
    try {
      number = publish(broker, "", dead_letters, job.delivery, headers);
    } catch (const std::invalid_argument&) {  // with this header they are too large
      number = publish(broker, "", dead_letters, job.delivery, {{"rejected-because", "its headers fill a frame"}});
    }
    replace(job, number);
  }

  void start_tasks(amqp::Connection& broker) {
    const std::size_t held_before = held_.size();
    while (!held_.empty() && held_.begin()->first <= now()) {
      waiting_.push_back(std::move(held_.begin()->second));
      held_.erase(held_.begin());
    }
    if (held_.size() != held_before) broker.prefetch(allowance());
    while (!waiting_.empty()) {
      const Task& task = waiting_.front().task;
      const bool revoked = revoked_.contains(task.id), expired = task.expires && *task.expires < now();
      if (revoked || expired) {
        log("Task {} is not started, since it {}", task.title(), revoked ? "was revoked" : "has expired");
        control_.tell_of_task(broker, "task-revoked", task.id,
                              {{"terminated", false}, {"signum", nullptr}, {"expired", expired}});
        complete(broker, waiting_.front(), revocation(revoked ? "revoked" : "expired"));
      } else if (pool_.has_idle()) {
        control_.tell_of_task(broker, "task-started", task.id);
        pool_.execute(std::move(waiting_.front()));
      } else {
        break;
      }
      waiting_.pop_front();
    }
  }

  void finish(amqp::Connection& broker, const Done& done) {
    const Task& task = done.job.task;
    if (done.job.session != session_) {
      return log("Task {} has ended, but its connection is lost: the broker delivers it again", task.title());
    }
    if (const auto* retry = std::get_if<Retry>(&done.outcome)) return try_again(broker, done.job, *retry);
    const Result& result = std::get<Result>(done.outcome);
    if (result.status == "SUCCESS") {
      log("Task {} succeeded in {:.6f} s: {}", task.title(), done.seconds, shown(result.value));
      control_.tell_of_task(broker, "task-succeeded", task.id,
                            {{"result", shown(result.value)}, {"runtime", done.seconds}});
    } else {
      log("Task {} failed: {}", task.title(), result.traceback);
      const bool revoked = result.status == "REVOKED";
      json::object event = {{"exception", result.traceback}, {"traceback", result.traceback}};
      if (revoked) event = {{"terminated", true}, {"signum", SIGKILL}, {"expired", false}};
      control_.tell_of_task(broker, revoked ? "task-revoked" : "task-failed", task.id, event);
    }
    ++executed_[task.name];
    complete(broker, done.job, result);
  }

  void try_again(amqp::Connection& broker, const Job& job, const Retry& retry) {
    log("Task {} is to be tried again in {} s: {}", job.task.title(), retry.after_seconds, retry.why);
    control_.tell_of_task(broker, "task-retried", job.task.id, {{"exception", retry.why}, {"traceback", nullptr}});
    Task again = job.task;
    ++again.retries;
    again.eta = after(retry.after_seconds);
    try {
      const std::uint64_t number = publish(broker, job.delivery.queue, again);
      answer_alone(broker, job.task, failure({"Retry", retry.why, "celery.exceptions"}, "RETRY"));
      replace(job, number);
    } catch (const std::invalid_argument& error) {  // the headers have become too large
      refuse(broker, job, {"ValueError", error.what()});
    }
  }

  /// Sends the result, posts the next task of the chain, and acknowledges the task.
  void complete(amqp::Connection& broker, const Job& job, const Result& result) {
    const Task& task = job.task;
    if (task.chain.empty() || result.status != "SUCCESS") return replace(job, answer(broker, task, result));
    answer_alone(broker, task, result);
    const json::value& queue = member(member(task.chain.back(), "options"), "queue");
    try {
      const std::string next_queue = queue.is_null() ? "celery" : read_name(queue, "queue");
      const std::uint64_t number =
          publish(broker, next_queue, next_in_chain(task, result.value), amqp::Unrouted::error);
      broker.confirm();  // is there a queue for it?
      replace(job, number);
    } catch (const amqp::Unroutable& error) {
      replace(job, fail_chain(broker, task, failure({"QueueNotFound", error.what(), "celery.exceptions"})));
    } catch (const std::invalid_argument& error) {
      replace(job, fail_chain(broker, task, failure({"ValueError", error.what()})));
    } catch (const Malformed& error) {
      replace(job, fail_chain(broker, task, failure({"ValueError", error.what()})));
    }
  }

  /// Sends the result of a task. If it has not succeeded, the tasks that should have followed it have the same result.
  /// Returns the number of the last message, 0 if nobody wants to know.
  std::uint64_t answer(amqp::Connection& broker, const Task& task, const Result& result) {
    const std::uint64_t own = answer_alone(broker, task, result);
    return result.status == "SUCCESS" ? own : std::max(own, fail_chain(broker, task, result));
  }

  static std::uint64_t answer_alone(amqp::Connection& broker, const Task& task, const Result& result) {
    return task.reply_to.empty() || task.ignore_result ? 0 : publish(broker, task.reply_to, task.id, result);
  }

  static std::uint64_t fail_chain(amqp::Connection& broker, const Task& task, const Result& result) {
    std::uint64_t last = 0;
    for (const json::value& signature : task.chain) {
      const json::value& options = member(signature, "options");
      try {
        last = publish(broker, read_name(member(options, "reply_to"), "reply_to"),
                       read_name(member(options, "task_id"), "task_id"), result);
      } catch (const Malformed&) {
        // Nobody waits for this one.
      }
    }
    return last;
  }

  /// The task is done when the broker has confirmed the message with this number, which takes its place: then, and not
  /// before, it is acknowledged. 0 stands for none.
  void replace(const Job& job, std::uint64_t number) {
    if (number == 0)
      done_.push_back(job.delivery.tag);
    else
      replaced_.emplace(number, job.delivery.tag);
  }

  /// One acknowledgement can speak for all messages up to its own, if all of those are done.
  void acknowledge(amqp::Connection& broker) {
    while (!replaced_.empty() && broker.is_confirmed(replaced_.begin()->first)) {
      done_.push_back(replaced_.begin()->second);
      replaced_.erase(replaced_.begin());
    }
    for (const std::uint64_t tag : done_) unacknowledged_.erase(tag);
    std::uint64_t up_to = 0;
    for (const std::uint64_t tag : done_) {
      if (unacknowledged_.empty() || tag < *unacknowledged_.begin())
        up_to = std::max(up_to, tag);
      else
        broker.acknowledge(tag, amqp::Acknowledged::this_one);
    }
    if (up_to != 0) broker.acknowledge(up_to, amqp::Acknowledged::up_to_this_one);
    done_.clear();
  }

  /// A task with a countdown stays unacknowledged for long, so each adds one to what the broker may send.
  std::uint16_t allowance() const {
    return static_cast<std::uint16_t>(std::min<std::size_t>(
        65'535, std::size_t(settings_.prefetch) * std::size_t(settings_.concurrency) + held_.size()));
  }

  static Result revocation(const std::string& why) {
    return failure({"TaskRevokedError", why, "celery.exceptions"}, "REVOKED");
  }

  // What `celery inspect` and `celery control` ask.

  std::map<std::string, Control::Method> methods() {
    const auto ok = [](const std::string& text) { return json::object{{"ok", text}}; };
    return {
        {"ping", [=](const auto&) { return ok("pong"); }},
        {"hello",
         [this](const auto&) {
           return json::object{{"clock", control_.clock()}, {"revoked", json::object()}};
         }},
        {"registered", [this](const auto&) { return registered(); }},
        {"active", [this](const auto&) { return active(); }},
        {"reserved", [this](const auto&) { return reserved(); }},
        {"scheduled", [this](const auto&) { return scheduled(); }},
        {"revoked", [this](const auto&) { return json::value_from(revoked_); }},
        {"active_queues", [this](const auto&) { return active_queues(); }},
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
      if (member(arguments, "terminate") == json::value(true)) pool_.kill_task(name, revocation("terminated"));
    }
  }

  json::object event_of(const Job& job) const {
    const Task& task = job.task;
    return {{"name", task.name},
            {"args", json::serialize(task.args)},
            {"kwargs", json::serialize(task.kwargs)},
            {"root_id", member(task.headers, "root_id")},
            {"parent_id", member(task.headers, "parent_id")},
            {"retries", task.retries},
            {"eta", or_null(task.eta)},
            {"expires", or_null(task.expires)}};
  }

  json::object description(const Job& job) const {
    const Task& task = job.task;
    return {{"id", task.id},
            {"name", task.name},
            {"type", task.name},
            {"args", task.args},
            {"kwargs", task.kwargs},
            {"hostname", settings_.node},
            {"acknowledged", false},
            {"time_start", nullptr},
            {"worker_pid", nullptr},
            {"delivery_info",
             {{"exchange", ""},
              {"routing_key", job.delivery.queue},
              {"priority", 0},
              {"redelivered", job.delivery.redelivered}}}};
  }

  json::value active() const {
    json::array all;
    for (const Pool::Running& running : pool_.running()) {
      json::object one = description(running.job);
      one["time_start"] = timestamp(running.started);
      one["worker_pid"] = running.pid;
      all.push_back(one);
    }
    return all;
  }

  json::value reserved() const {
    json::array all;
    for (const Job& job : waiting_) all.push_back(description(job));
    for (const auto& [due, job] : held_) all.push_back(description(job));
    return all;
  }

  json::value scheduled() const {
    json::array all;
    for (const auto& [due, job] : held_)
      all.push_back({{"eta", to_iso(due)}, {"priority", 6}, {"request", description(job)}});
    return all;
  }

  json::value registered() const {
    json::array names;
    for (const auto& [name, function] : registry_.functions()) names.push_back(json::value(name));
    return names;
  }

  json::value active_queues() const {
    json::array all;
    for (const std::string& queue : settings_.queues) {
      all.push_back({{"name", queue},
                     {"routing_key", queue},
                     {"durable", true},
                     {"exclusive", false},
                     {"auto_delete", false},
                     {"exchange", {{"name", queue}, {"type", "direct"}, {"durable", true}}}});
    }
    return all;
  }

  json::value statistics() const {
    return {{"pid", getpid()},
            {"clock", std::to_string(control_.clock())},
            {"uptime", static_cast<std::int64_t>(since_start_.seconds())},
            {"prefetch_count", allowance()},
            {"total", json::value_from(executed_)},
            {"pool",
             {{"implementation", "processes, C++"},
              {"max-concurrency", settings_.concurrency},
              {"processes", json::value_from(pool_.pids())}}}};
  }

  void tell_of_worker(amqp::Connection& broker, const std::string& what) {
    std::int64_t processed = 0;
    for (const auto& [name, count] : executed_) processed += count;
    control_.tell(broker, what,
                  {{"freq", 2},
                   {"active", pool_.running().size()},
                   {"processed", processed},
                   {"loadavg", {0, 0, 0}},
                   {"sw_ident", "celery_worker"},
                   {"sw_ver", "1.0.0"},
                   {"sw_sys", "Linux"}});
    next_heartbeat_ = after(2);
  }

  /// `text` as one line. Much of it comes from outside, so characters that could forge a line are masked.
  static std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return text;
  }

  template <typename... Values>
  void log(fmt::format_string<Values...> format, Values&&... values) const {
    if (!settings_.quiet) cookbook::print_line(one_line(fmt::format(format, std::forward<Values>(values)...)));
  }

  const Settings settings_;
  const Registry& registry_;
  Pool pool_;
  Control control_;
  bool stopping_ = false;
  long session_ = 0;
  std::deque<Job> waiting_;        ///< for a process
  std::multimap<Time, Job> held_;  ///< not before their time
  std::set<std::string> revoked_;
  std::set<std::uint64_t> unacknowledged_;           ///< tags of what was delivered
  std::map<std::uint64_t, std::uint64_t> replaced_;  ///< number of the new message, tag of the old one
  std::vector<std::uint64_t> done_;                  ///< tags to acknowledge
  std::map<std::string, std::int64_t> executed_;
  Time next_heartbeat_ = {};
  const cookbook::Stopwatch since_start_;
};

}  // namespace celery
