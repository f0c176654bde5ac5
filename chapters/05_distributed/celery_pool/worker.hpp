/// A worker that takes tasks of Celery from a broker, and has each executed by a process that can be killed.
#pragma once

#include <csignal>
#include <deque>
#include <string>

#include "celery/acknowledgements.hpp"
#include "celery/chain.hpp"
#include "celery/pool.hpp"
#include "celery/remote_control.hpp"

namespace celery {

inline volatile std::sig_atomic_t stop_wanted = 0;

/// For one thread: this process never executes a task, so it never waits for one to end. Unlike Python's worker it does
/// not remember the ids of revoked tasks that the broker has not delivered yet, and a soft time limit kills the task,
/// since an exception cannot be thrown into a C++ function from outside.
class PoolWorker {
 public:
  PoolWorker(const std::string& url, const Registry& registry, int concurrency)
      : broker_(url), pool_(concurrency, registry) {
    std::signal(SIGTERM, [](int) { stop_wanted = 1; });
    control_.on("revoke", [this](const json::value& arguments) { return revoke(arguments); });
    control_.listen(broker_);
    declare_task_queue(broker_, "celery");
    broker_.prefetch(static_cast<std::uint16_t>(4 * concurrency));  // tasks that are taken ahead
    broker_.consume("celery");
  }

  /// Works until SIGTERM comes, gives back the tasks that have not started, and lets the others end. Throws amqp::Error
  /// if the broker is gone.
  void run() {
    bool stopping = false;
    while (!stopping || !pool_.all_idle()) {
      if (stop_wanted && !std::exchange(stopping, true)) broker_.stop_consuming("celery");
      // Sleeps until a task has ended, a time limit is over, the broker has sent something, or for 100 ms; not at all
      // if the connection has already read a further message. Nothing else here waits while tasks run, neither for the
      // broker to confirm a result nor for the second half of an outcome, or a time limit would pass unnoticed.
      const std::chrono::milliseconds timeout(broker_.has_read_ahead() ? 0 : 100);
      for (const Done& done : pool_.wait(broker_.socket(), timeout)) ended(done);
      while (auto message = broker_.next(std::chrono::milliseconds(0))) {
        if (message->queue == control_.queue())
          control_.answer(*message);
        else
          received(std::move(*message));
      }
      while (!stopping && !waiting_.empty() && pool_.idle() != nullptr) {
        start(std::move(waiting_.front()));
        waiting_.pop_front();
      }
      if (stopping) give_back_what_waits();
      acknowledgements_.send(broker_);  // of tasks whose results the broker has confirmed, and of no other
    }
    broker_.confirm();
    acknowledgements_.send(broker_);
  }

 private:
  void received(amqp::Delivery message) {
    acknowledgements_.received(message.tag);
    Job job = {std::move(message), {}};
    job.task = unread_task(job.message);
    try {
      job.task = read_task(job.message);
      if (job.task.eta || !job.task.chain.empty() || !job.task.unknown.empty()) {
        throw TaskError("NotImplementedError", "countdown, chains and callbacks");
      }
      waiting_.push_back(std::move(job));
    } catch (const Malformed& malformed) {
      answer(job, failure({"DecodeError", malformed.what(), "kombu.exceptions"}));
    } catch (const TaskError& error) {
      answer(job, failure(error));
      fail_chain(broker_, job.task, failure(error));
    }
  }

  void start(Job job) {
    if (job.task.expires && *job.task.expires < now()) return answer(job, revocation("expired"));
    publish_result(broker_, job.task, {"STARTED"});
    pool_.execute(*pool_.idle(), std::move(job));
  }

  /// Other workers can have these tasks at once, and not only when the running ones have ended here.
  void give_back_what_waits() {
    for (; !waiting_.empty(); waiting_.pop_front()) {
      broker_.give_back(waiting_.front().message);
      acknowledgements_.given_back(waiting_.front().message.tag);
    }
  }

  void ended(const Done& done) {
    const auto* retry = std::get_if<Retry>(&done.outcome);
    answer(done.job, retry ? failure({"NotImplementedError", "retries"}) : std::get<Result>(done.outcome));
  }

  void answer(const Job& job, const Result& result) {
    const std::uint64_t number = publish_result(broker_, job.task, result);
    acknowledgements_.replaced(job.message.tag, number);
  }

  /// A client's command: kill the task if it runs, and do not start it if it waits.
  json::object revoke(const json::value& arguments) {
    const std::string id = read_name(member(arguments, "task_id"), "task_id");
    pool_.kill_task(id, revocation("terminated"));
    std::erase_if(waiting_, [&](const Job& job) {
      if (job.task.id == id) answer(job, revocation("revoked"));
      return job.task.id == id;
    });
    return ok("revoked");
  }

  amqp::Connection broker_;
  Pool pool_;
  Acknowledgements acknowledgements_;
  std::deque<Job> waiting_;  ///< tasks for which no process is idle
  RemoteControl control_{fmt::format("pool{}@here", getpid())};
};

}  // namespace celery
