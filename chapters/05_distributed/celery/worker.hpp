/// A worker that can be asked and told while its tasks run. It takes tasks of Celery from a broker, has them executed
/// by processes, and sends the results.
#pragma once

#include <poll.h>

#include <csignal>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "celery/acknowledgements.hpp"
#include "celery/chain.hpp"
#include "celery/pool.hpp"
#include "celery/remote_control.hpp"
#include "celery/reports.hpp"

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
  Worker(Settings settings, const Registry& registry) : settings_(std::move(settings)), registry_(registry) {
    std::signal(SIGTERM, [](int) { stop_wanted = 1; });
    control_.on("revoke", [this](const json::value& arguments) { return revoke(arguments); });
    control_.on("shutdown", [](const json::value&) {
      stop_wanted = 1;
      return ok("shutting down");
    });
  }

  /// Works until SIGTERM comes, or until `celery control shutdown`, and lets running tasks end. Makes a new connection
  /// when one is lost. Throws amqp::Error if there is no first one.
  void run() {
    while (!stop_wanted) {
      try {
        connect();
        serve();
        return;
      } catch (const amqp::Error& error) {
        if (!pool_) throw;
        cookbook::print_error(std::string(error.what()) + "; trying again in a second");
        const Time end = after(1);
        while (now() < end && !stop_wanted) poll(nullptr, 0, 50);  // sleeps for 50 ms, then looks at stop_wanted
      }
    }
  }

 private:
  const Settings settings_;
  const Registry& registry_;
  std::optional<amqp::Connection> broker_;
  std::optional<Pool> pool_;           ///< the processes; none before the first connection
  std::deque<Job> waiting_;            ///< tasks for which no process was idle yet
  std::multimap<Time, Job> held_;      ///< tasks with a countdown, by the time at which it ends
  Acknowledgements acknowledgements_;  ///< of all tasks that the broker has delivered
  std::set<std::string> revoked_;      ///< ids of tasks that are not to be started; it only grows
  std::uint16_t prefetch_ = 0;         ///< messages that the broker may send ahead of their acknowledgement
  RemoteControl control_{settings_.node};
  Reports reports_{control_,
                   settings_.quiet,
                   {registry_, settings_.url, settings_.queues, pool_, waiting_, held_, revoked_, prefetch_}};

  // A task's way through the worker has a function for each step:
  //   receive                 checks it, and puts it into waiting_, or into held_ until its countdown ends
  //   start_tasks             gives it to an idle process, unless it was revoked or has expired
  //   ended                   looks at its outcome, which the process has sent
  //   publish_outcome         publishes the message that takes its place: its result, or the next task of its chain
  //     or try_again          publishes the same task once more, for later
  //   acknowledgements_.send  acknowledges it when the broker has confirmed that message

  void serve() {
    bool stopping = false;
    while (!stopping || !pool_->all_idle()) {
      if (stop_wanted && !stopping) {
        stopping = true;
        for (const std::string& queue : settings_.queues) broker_->stop_consuming(queue);
        give_back_what_has_not_started();
      }
      for (const Done& done : pool_->wait(broker_->socket(), time_to_sleep())) ended(done);
      for (int turn = 0; turn < 64; ++turn) {  // at most 64, then look after the tasks again
        auto message = broker_->next(std::chrono::milliseconds(0));
        if (!message) break;
        if (message->queue == control_.queue())
          control_.answer(*message);
        else if (stopping)
          broker_->give_back(*message);
        else
          receive(std::move(*message));
      }
      start_tasks();
      acknowledgements_.send(*broker_);
      reports_.heartbeat_if_due();
    }
    reports_.offline();
    broker_->confirm();
    acknowledgements_.send(*broker_);
    reports_.stopped();
  }

  /// Other workers can have these tasks at once, and not only when the running ones have ended here.
  void give_back_what_has_not_started() {
    for (; !held_.empty(); held_.erase(held_.begin())) waiting_.push_back(std::move(held_.begin()->second));
    for (; !waiting_.empty(); waiting_.pop_front()) {
      broker_->give_back(waiting_.front().message);
      acknowledgements_.given_back(waiting_.front().message.tag);
    }
  }

  void receive(amqp::Delivery message) {
    acknowledgements_.received(message.tag);
    Job job = {std::move(message), {}};
    job.task = unread_task(job.message);
    try {
      job.task = read_task(job.message);
      reports_.received(job);
      registry_.at(job.task.name);  // throws NotRegistered if there is none
      if (!job.task.unknown.empty()) throw TaskError("NotImplementedError", job.task.unknown);
      check_chain(job.task);
    } catch (const Malformed& malformed) {
      return refuse(job, {"DecodeError", malformed.what(), "kombu.exceptions"});
    } catch (const TaskError& error) {
      return refuse(job, error);
    }
    if (job.task.eta && *job.task.eta > now()) {
      const Time due = *job.task.eta;
      held_.emplace(due, std::move(job));
    } else {
      waiting_.push_back(std::move(job));
    }
  }

  void start_tasks() {
    for (; !held_.empty() && held_.begin()->first <= now(); held_.erase(held_.begin())) {
      waiting_.push_back(std::move(held_.begin()->second));
    }
    set_prefetch();
    for (; !waiting_.empty(); waiting_.pop_front()) {
      Job& job = waiting_.front();
      const bool revoked = revoked_.contains(job.task.id), expired = job.task.expires && *job.task.expires < now();
      if (revoked || expired) {
        const std::string why = revoked ? "revoked" : "expired";
        reports_.not_started(job.task, why);
        publish_outcome(job, revocation(why));
      } else if (Pool::Process* process = pool_->idle()) {
        reports_.started(job.task);
        pool_->execute(*process, std::move(job));
      } else {
        break;
      }
    }
  }

  void ended(const Done& done) {
    if (const auto* retry = std::get_if<Retry>(&done.outcome)) return try_again(done.job, *retry);
    const Result& result = std::get<Result>(done.outcome);
    reports_.ended(done.job.task, result, done.seconds);
    publish_outcome(done.job, result);
  }

  void publish_outcome(const Job& job, const Result& result) {
    const std::uint64_t number = publish_with_chain(*broker_, job.task, result);
    acknowledgements_.replaced(job.message.tag, number);
  }

  void try_again(const Job& job, const Retry& retry) {
    reports_.retried(job.task, retry);
    Task again = job.task;
    ++again.retries;
    again.eta = after(retry.after_seconds);
    try {
      const std::uint64_t number = publish(*broker_, job.message.queue, again);
      acknowledgements_.replaced(job.message.tag, number);
      publish_result(*broker_, job.task, failure({"Retry", retry.why, "celery.exceptions"}, "RETRY"));
    } catch (const std::invalid_argument& error) {  // the message has become too large
      refuse(job, {"ValueError", error.what()});
    }
  }

  void refuse(const Job& job, const TaskError& error) {
    keep_aside(*broker_, job.message, error);
    reports_.refused(job.task, error);
    publish_outcome(job, failure(error));
  }

  /// Whether Python would take it for true: Flower sends 1.
  static bool is_true(const json::value& value) {
    return value == json::value(true) || (value.is_number() && value.to_number<double>() != 0);
  }

  /// What `celery control revoke` asks for: these tasks are not started and, with `terminate`, killed if they run.
  json::object revoke(const json::value& arguments) {
    const json::value& ids = member(arguments, "task_id");
    std::vector<std::string> names;  // all are read before the first is revoked: one that is none refuses the command
    for (const json::value& id : ids.is_array() ? ids.get_array() : json::array{ids}) {
      names.push_back(read_name(id, "task_id"));
    }
    for (const std::string& name : names) {
      revoked_.insert(name);
      if (is_true(member(arguments, "terminate"))) pool_->kill_task(name, revocation("terminated"));
    }
    return ok("revoked");
  }

  void connect() {
    broker_.emplace(settings_.url, /*heartbeat_seconds=*/10);
    control_.listen(*broker_);
    broker_->declare_queue(dead_letters);
    // The broker delivers again what an earlier connection did not acknowledge. So the tasks that this worker still
    // has are forgotten, and the processes, which may still execute some of them, are replaced.
    waiting_.clear();
    held_.clear();
    acknowledgements_.clear();
    prefetch_ = 0;
    set_prefetch();
    for (const std::string& queue : settings_.queues) {
      declare_task_queue(*broker_, queue);
      broker_->consume(queue);
    }
    pool_.emplace(settings_.concurrency, registry_);
    reports_.online();
  }

  /// A task with a countdown stays unacknowledged for long, so each adds one to what the broker may send.
  void set_prefetch() {
    const std::size_t wanted = static_cast<std::size_t>(settings_.prefetch * settings_.concurrency) + held_.size();
    const auto allowed = static_cast<std::uint16_t>(std::min<std::size_t>(wanted, 65'535));
    if (allowed != prefetch_) broker_->prefetch(allowed);
    prefetch_ = allowed;
  }

  std::chrono::milliseconds time_to_sleep() const {
    if (broker_->has_read_ahead()) return {};
    const std::chrono::milliseconds longest(100);  // for SIGTERM, time limits and heartbeats
    if (held_.empty()) return longest;
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(held_.begin()->first - now()), {}, longest);
  }
};

}  // namespace celery
