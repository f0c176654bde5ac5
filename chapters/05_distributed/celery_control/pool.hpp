/// The processes that execute a worker's tasks. A task can be killed there, when its time is over or when it is
/// revoked, and a task that crashes takes no other task along.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <variant>
#include <vector>

#include "celery/registry.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

namespace celery {

/// Thrown by a task that wants to be tried again after a pause.
struct Retry {
  double after_seconds;
  std::int64_t max_retries;  ///< tries after the first; then the task has failed
  std::string why;
};

/// A task that the broker has delivered, with its message.
struct Job {
  amqp::Delivery message;
  Task task;
};

struct Done {
  Job job;
  std::variant<Result, Retry> outcome;
  double seconds;
};

class Pool {
 public:
  struct Process {
    pid_t pid = -1;
    int socket = -1;                        ///< the worker's end of a pair: tasks go out, results come in
    std::optional<Job> job = {};            ///< that it executes
    Time started = {};                      ///< when the job was
    std::optional<Result> end_reason = {};  ///< why it was killed
  };

  Pool(int count, const Registry& registry) : registry_(registry), processes_(static_cast<std::size_t>(count)) {
    for (Process& process : processes_) start(process);
  }
  ~Pool() {
    for (Process& process : processes_) end(process);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const std::vector<Process>& processes() const { return processes_; }

  /// A process without a job; null if there is none.
  Process* idle() {
    const auto found = std::find_if(processes_.begin(), processes_.end(), [](const Process& one) { return !one.job; });
    return found == processes_.end() ? nullptr : &*found;
  }
  bool all_idle() const {
    return std::none_of(processes_.begin(), processes_.end(), [](const Process& one) { return one.job.has_value(); });
  }

  static void execute(Process& process, Job job) {
    const Task& task = job.task;
    send_text(process.socket, json::serialize(json::value{task.name, task.id, task.args, task.kwargs, task.retries}));
    process.job = std::move(job);
    process.started = now();
  }

  /// Kills the process that executes a task, if one does; the task ends with `reason`.
  void kill_task(const std::string& id, const Result& reason) {
    for (Process& process : processes_) {
      if (process.job && process.job->task.id == id) kill(process, reason);
    }
  }

  /// Sleeps until a task has ended, `other` is readable, or the time is over. Returns the tasks that have ended.
  std::vector<Done> wait(int other, std::chrono::milliseconds timeout) {
    std::vector<pollfd> ready = {{other, POLLIN, 0}};
    for (const Process& process : processes_) ready.push_back({process.socket, POLLIN, 0});
    poll(ready.data(), ready.size(), static_cast<int>(timeout.count()));
    std::vector<Done> done;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].job) enforce_limits(processes_[i]);
      if (ready[i + 1].revents != 0) collect(processes_[i], done);
    }
    return done;
  }

 private:
  void start(Process& process) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    process.pid = cookbook::start_child([&] { live(ends[1]); });
    process.socket = ends[0];
    close(ends[1]);
  }

  static void end(Process& process) {
    ::kill(process.pid, SIGKILL);
    cookbook::exit_code_of(process.pid);
    close(process.socket);
  }

  static void kill(Process& process, const Result& reason) {
    if (process.end_reason) return;
    process.end_reason = reason;
    ::kill(process.pid, SIGKILL);  // and collect() finds out that it has ended
  }

  static void enforce_limits(Process& process) {
    const auto enforce = [&](const std::optional<double>& limit, const std::string& type) {
      if (!limit || after(*limit, process.started) > now()) return;
      kill(process, failure({type, fmt::format("{}", *limit), "billiard.exceptions"}));  // its module in Python
    };
    enforce(process.job->task.soft_limit, "SoftTimeLimitExceeded");
    enforce(process.job->task.time_limit, "TimeLimitExceeded");
  }

  /// Takes the outcome of its task from a process, or starts a new process if it has ended.
  void collect(Process& process, std::vector<Done>& done) {
    const std::optional<std::string> answer = receive_text(process.socket);
    // Without an answer the process has ended. With an answer it may have been killed just afterwards: then the answer
    // counts, since it came in time, but the process takes no more tasks.
    if (!answer || process.end_reason) {
      end(process);
      start(process);
    }
    if (!process.job) return;
    const TaskError lost("WorkerLostError", "the process that executed the task has ended", "billiard.exceptions");
    const auto outcome = answer ? read_outcome(*answer) : process.end_reason.value_or(failure(lost));
    done.push_back({std::move(*process.job), outcome, timestamp() - timestamp(process.started)});
    process.job.reset();
    process.end_reason.reset();
  }

  /// The life of a process: takes one task after another. The connection to the broker, and all else that is open, is
  /// the worker's alone.
  void live(int socket) const {
    std::signal(SIGTERM, SIG_IGN);     // it may be sent to all processes, but only the worker acts on it
    if (socket != 3) dup2(socket, 3);  // the socket becomes descriptor 3, and all above it are closed
    close_range(4, ~0U, 0);
    while (const std::optional<std::string> text = receive_text(3)) {
      const json::value fields = json::parse(*text);
      Task task = {json::value_to<std::string>(fields.at(0)), json::value_to<std::string>(fields.at(1)),
                   fields.at(2).as_array(), fields.at(3).as_object()};
      task.retries = fields.at(4).as_int64();
      send_text(3, json::serialize(outcome_of(task)));
    }
  }

  /// ["SUCCESS", value], ["FAILURE", type, message, module] or ["RETRY", seconds, retries, why]. Inside, whatever the
  /// task throws becomes a TaskError or a RETRY; outside, a TaskError becomes the answer.
  json::array outcome_of(const Task& task) const {
    try {
      try {
        return {"SUCCESS", registry_.at(task.name)(task)};
      } catch (const Retry& retry) {
        if (task.retries < retry.max_retries) return {"RETRY", retry.after_seconds, retry.max_retries, retry.why};
        throw TaskError("MaxRetriesExceededError", retry.why, "celery.exceptions");
      } catch (const TaskError&) {
        throw;
      } catch (const std::exception& error) {
        throw TaskError("RuntimeError", error.what());
      } catch (...) {
        throw TaskError("RuntimeError", "an exception of unknown type");
      }
    } catch (const TaskError& error) {
      return {"FAILURE", error.type, error.what(), error.module};
    }
  }

  static std::variant<Result, Retry> read_outcome(const std::string& text) {
    const json::value fields = json::parse(text);
    const auto string = [&](std::size_t i) { return json::value_to<std::string>(fields.at(i)); };
    if (fields.at(0) == "SUCCESS") return Result{"SUCCESS", fields.at(1)};
    if (fields.at(0) == "RETRY") return Retry{fields.at(1).to_number<double>(), fields.at(2).as_int64(), string(3)};
    return failure(TaskError(string(1), string(2), string(3)));
  }

  /// A text goes through a socket behind its length. If the other process is gone, nothing is sent.
  static void send_text(int socket, const std::string& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    std::string all(reinterpret_cast<const char*>(&length), sizeof length);
    all += text;
    for (std::size_t sent = 0; sent < all.size();) {
      const ssize_t count = send(socket, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) return;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
  }

  /// Nothing if the other process has ended.
  static std::optional<std::string> receive_text(int socket) {
    std::uint32_t length;
    if (!receive_all(socket, &length, sizeof length)) return {};
    std::string text(length, '\0');
    if (!receive_all(socket, text.data(), length)) return {};
    return text;
  }

  /// A signal such as SIGTERM makes recv() return early, even with MSG_WAITALL, so it is called until all is there.
  static bool receive_all(int socket, void* place, std::size_t size) {
    for (std::size_t got = 0; got < size;) {
      const ssize_t count = recv(socket, static_cast<char*>(place) + got, size - got, 0);
      if (count == 0 || (count < 0 && errno != EINTR)) return false;
      if (count > 0) got += static_cast<std::size_t>(count);
    }
    return true;
  }

  const Registry& registry_;
  std::vector<Process> processes_;
};

}  // namespace celery
