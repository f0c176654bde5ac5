/// The threads of a worker that run its tasks.
///
/// The connection to the broker belongs to the worker's main thread, so these threads never touch it: they get tasks
/// from one queue and lay results into another, and an eventfd wakes the main thread, which sleeps in poll() on it and
/// on the broker's socket at once.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/system_check.hpp"
#include "tasks.hpp"

namespace task_queue {

/// A task that was delivered: the message of that delivery is acknowledged when the task is done, not before.
struct Job {
  long session;       ///< counts the worker's connections, since tags are those of one connection
  std::uint64_t tag;  ///< of the delivery
  std::string queue;
  Request request;
};

struct Done {
  Job job;
  std::variant<Result, Retry> outcome;
  double seconds;
};

class Executor {
 public:
  Executor(int threads, const Registry& registry) : registry_(registry) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }

  ~Executor() {
    {
      std::scoped_lock hold(guard_);
      closed_ = true;
    }
    to_do_changed_.notify_all();
    threads_.clear();
    close(wake_);
  }

  void submit(Job job) {
    {
      std::scoped_lock hold(guard_);
      to_do_.push_back(std::move(job));
    }
    to_do_changed_.notify_one();
  }

  /// Forgets the tasks that no thread has begun: the broker still has them, and gives them to another worker.
  void forget_waiting() {
    std::scoped_lock hold(guard_);
    to_do_.clear();
  }

  /// What was finished since the last call.
  std::vector<Done> finished() {
    eventfd_t count;
    eventfd_read(wake_, &count);  // fails if nobody has written, which is as good
    std::scoped_lock hold(guard_);
    return std::exchange(done_, {});
  }

  /// Readable when something is finished.
  int descriptor() const { return wake_; }

  /// Whether nothing waits, runs, or is finished and not yet fetched.
  bool idle() {
    std::scoped_lock hold(guard_);
    return to_do_.empty() && done_.empty() && running_ == 0;
  }

 private:
  void work() {
    std::unique_lock hold(guard_);
    for (;;) {
      to_do_changed_.wait(hold, [&] { return closed_ || !to_do_.empty(); });
      if (closed_) return;
      Job job = std::move(to_do_.front());
      to_do_.pop_front();
      ++running_;
      hold.unlock();
      const cookbook::Stopwatch watch;
      auto outcome = run(job.request);
      Done done = {std::move(job), std::move(outcome), watch.seconds()};
      hold.lock();
      --running_;
      done_.push_back(std::move(done));
      if (done_.size() == 1) eventfd_write(wake_, 1);  // else the main thread has been woken already
    }
  }

  /// A task may throw what it likes: that is its result, and the worker goes on.
  std::variant<Result, Retry> run(const Request& request) const {
    try {
      return Result{request.id, "SUCCESS", registry_.tasks().at(request.task)(request)};
    } catch (const Retry& retry) {
      if (request.retries < retry.max_retries) return retry;
      return failure(request, TaskError("MaxRetriesExceededError", retry.why, "celery.exceptions"));
    } catch (const TaskError& error) {
      return failure(request, error);
    } catch (const std::exception& error) {
      return failure(request, TaskError("RuntimeError", error.what()));
    } catch (...) {
      return failure(request, TaskError("RuntimeError", "an exception of unknown type"));
    }
  }

  const Registry& registry_;
  std::mutex guard_;
  std::condition_variable to_do_changed_;
  std::deque<Job> to_do_;
  std::vector<Done> done_;
  int running_ = 0;
  bool closed_ = false;
  const int wake_ = check(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
  std::vector<std::jthread> threads_;
};

}  // namespace task_queue
