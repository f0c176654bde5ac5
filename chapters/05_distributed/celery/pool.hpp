/// The processes that execute a worker's tasks. A task can be killed there, when its time is over or when it is
/// revoked, and a task that crashes takes no other task along.
#pragma once

#include <fcntl.h>
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

/// A task that the broker has delivered, with its message.
struct Job {
  amqp::Delivery message;
  Task task;
  bool given_again = false;  ///< to another process, since the first one had ended before it read the task
};

using Outcome = std::variant<Result, Retry>;

struct Done {
  Job job;
  Outcome outcome;
  double seconds;
};

class Pool {
  using Clock = std::chrono::steady_clock;  // for time limits: nobody sets this clock

 public:
  struct Process {
    pid_t pid = -1;
    int socket = -1;                        ///< the worker's end of a pair: tasks go out, results come in
    std::optional<Job> job = {};            ///< that it executes
    Time started = {};                      ///< when the job was, by the time of day
    Clock::time_point since = {};           ///< the same, for time limits
    std::optional<Result> end_reason = {};  ///< why it was killed
    std::string unsent = {};                ///< the rest of its task's text, for which the socket had no room
    std::string received = {};              ///< what has come of its outcome's text
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

  /// Gives a task to an idle process; to a new one, if that has ended.
  void execute(Process& process, Job job) {
    const Task& task = job.task;
    const json::value fields = {task.name, task.id, task.args, task.kwargs, task.retries};
    const std::string text = behind_its_length(json::serialize(fields));
    process.unsent = text;
    if (!send_on(process)) {
      replace(process);
      process.unsent = text;
      send_on(process);  // if this one has ended, too, collect() will find out
    }
    process.job = std::move(job);
    process.started = now();
    process.since = Clock::now();
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
    for (const Process& process : processes_) {
      const bool all_sent = process.unsent.empty();
      ready.push_back({process.socket, static_cast<short>(all_sent ? POLLIN : POLLIN | POLLOUT), 0});
      for (const Limit& limit : limits) {
        if (process.job && !process.end_reason) timeout = std::clamp(time_left(process, limit), {}, timeout);
      }
    }
    poll(ready.data(), ready.size(), static_cast<int>(timeout.count()));
    std::vector<Done> done;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].job) enforce_limits(processes_[i]);
      if ((ready[i + 1].revents & POLLOUT) != 0) send_on(processes_[i]);
      if ((ready[i + 1].revents & ~POLLOUT) != 0) collect(processes_[i], done);
    }
    return done;
  }

 private:
  static constexpr std::uint32_t max_text = 2 * max_result;  ///< bytes of what goes through a socket

  void start(Process& process) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    process.pid = cookbook::start_child([&] { live(ends[1]); });
    process.socket = ends[0];
    process.unsent.clear();
    process.received.clear();
    close(ends[1]);
  }

  /// Kills a process with all that its task has started: its children and theirs, and also those of its group whose
  /// own parent has ended.
  static void kill_all_of(const Process& process) {
    cookbook::kill_tree(process.pid);
    ::kill(-process.pid, SIGKILL);
  }

  static void end(Process& process) {
    kill_all_of(process);
    cookbook::exit_code_of(process.pid);
    close(process.socket);
  }

  void replace(Process& process) {
    end(process);
    start(process);
  }

  static void kill(Process& process, const Result& reason) {
    if (process.end_reason) return;
    process.end_reason = reason;
    kill_all_of(process);  // then collect() reads the end of the data
  }

  struct Limit {
    std::optional<double> Task::*seconds;
    const char* error;  ///< what it is called in Python
  };
  static constexpr Limit limits[] = {{&Task::soft_limit, "SoftTimeLimitExceeded"},
                                     {&Task::time_limit, "TimeLimitExceeded"}};

  /// Until this limit of the process's task is over; a day if it has none.
  static std::chrono::milliseconds time_left(const Process& process, const Limit& limit) {
    using Seconds = std::chrono::duration<double>;
    const Seconds allowed((process.job->task.*limit.seconds).value_or(86'400));
    return std::chrono::ceil<std::chrono::milliseconds>(allowed - Seconds(Clock::now() - process.since));
  }

  static void enforce_limits(Process& process) {
    for (const Limit& limit : limits) {
      const std::optional<double>& seconds = process.job->task.*limit.seconds;
      if (!seconds || time_left(process, limit).count() > 0) continue;
      kill(process, failure({limit.error, fmt::format("{}", *seconds), "billiard.exceptions"}));
    }
  }

  /// Takes the outcome of its task from a process if all of it has come, or starts a new process if it has ended.
  void collect(Process& process, std::vector<Done>& done) {
    const Received received = receive_on(process);
    const bool never_read = received == Received::end && (errno == ECONNRESET || !process.unsent.empty());
    if (!process.job) return replace(process);  // it has ended, or sends what nobody has asked for
    if (received == Received::part) return;
    const bool in_order = received == Received::all && process.unsent.empty();  // no answer before the whole task
    const std::optional<Outcome> outcome = in_order ? read_outcome(process.received) : std::nullopt;
    process.received.clear();
    // Without an outcome the process has ended, or its memory is spoilt. With one it may have been killed just
    // afterwards: then the outcome counts, since it came in time, but the process takes no more tasks.
    if (!outcome || process.end_reason) replace(process);
    if (never_read && !process.end_reason && !std::exchange(process.job->given_again, true)) {
      return execute(process, *std::exchange(process.job, std::nullopt));
    }
    const Result lost = failure({"WorkerLostError", "its process has ended", "billiard.exceptions"});
    Outcome answer = outcome.value_or(process.end_reason.value_or(lost));
    const std::chrono::duration<double> seconds = Clock::now() - process.since;
    done.push_back({std::move(*process.job), std::move(answer), seconds.count()});
    process.job.reset();
    process.end_reason.reset();
  }

  /// The life of a process: takes one task after another. The connection to the broker, and all else that is open, is
  /// the worker's alone.
  void live(int socket) const {
    setpgid(0, 0);  // a group of its own, with all that its tasks start
    // SIGTERM may be sent to all processes, but only the worker acts on it. (A program that a task starts would inherit
    // SIG_IGN, and could not be ended by SIGTERM.)
    std::signal(SIGTERM, [](int) {});
    // The socket becomes descriptor 3, and all above it are closed. Programs that a task starts must not have it, or
    // the worker would see no end of the data while one of them runs.
    if (socket != 3) dup3(socket, 3, O_CLOEXEC);
    close_range(4, ~0U, 0);
    while (const std::optional<std::string> text = receive_text(3)) {
      const json::value fields = json::parse(*text);
      Task task = {json::value_to<std::string>(fields.at(0)), json::value_to<std::string>(fields.at(1)),
                   fields.at(2).as_array(), fields.at(3).as_object()};
      task.retries = fields.at(4).as_int64();
      if (!send_all(3, behind_its_length(json::serialize(outcome_of(task))))) return;
    }
  }

  /// ["SUCCESS", value], ["FAILURE", type, message, module] or ["RETRY", seconds, retries, why]. Inside, whatever the
  /// task throws becomes a TaskError or a RETRY; outside, a TaskError becomes the answer.
  json::array outcome_of(const Task& task) const {
    try {
      try {
        return {"SUCCESS", checked(registry_.at(task.name)(task))};
      } catch (const Retry& retry) {
        if (!(retry.after_seconds >= 0 && retry.after_seconds < 1e9)) {
          throw TaskError("ValueError", fmt::format("to be tried again after {} s", retry.after_seconds));
        }
        if (task.retries < retry.max_retries) {
          return {"RETRY", retry.after_seconds, retry.max_retries, as_utf8(retry.why, 10'000)};
        }
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

  /// Nothing if the text is none: a task can have written into its process's socket, or memory.
  static std::optional<Outcome> read_outcome(const std::string& text) {
    try {
      const json::value fields = json::parse(text);
      const auto string = [&](std::size_t i) { return json::value_to<std::string>(fields.at(i)); };
      if (fields.at(0) == "SUCCESS") return Result{"SUCCESS", fields.at(1)};
      if (fields.at(0) == "RETRY") return Retry{fields.at(1).to_number<double>(), fields.at(2).as_int64(), string(3)};
      return failure(TaskError(string(1), string(2), string(3)));
    } catch (const std::exception&) {
      return {};
    }
  }

  /// The form in which a text goes through a socket.
  static std::string behind_its_length(const std::string& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
  }

  /// Sends as much of a process's task as its socket has room for. The worker never waits for a process: that may have
  /// been stopped. False if it has ended.
  static bool send_on(Process& process) {
    while (!process.unsent.empty()) {
      const ssize_t count =
          send(process.socket, process.unsent.data(), process.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) return errno == EAGAIN;
      process.unsent.erase(0, static_cast<std::size_t>(count));
    }
    return true;
  }

  enum class Received { part, all, end };

  /// Reads what has come of a process's outcome, and never waits for the rest: a task can write part of a text into its
  /// process's socket and go on. At the `end` the process has ended, or sends what is no such text; errno is ECONNRESET
  /// if it had not read all.
  static Received receive_on(Process& process) {
    for (char part[1 << 16];;) {
      std::uint32_t length = 0;
      std::size_t missing = sizeof length - std::min(sizeof length, process.received.size());
      if (missing == 0) {
        process.received.copy(reinterpret_cast<char*>(&length), sizeof length);
        if (length > max_text) return Received::end;
        missing = sizeof length + length - process.received.size();
        if (missing == 0) {
          process.received.erase(0, sizeof length);
          return Received::all;
        }
      }
      errno = 0;
      const ssize_t count = recv(process.socket, part, std::min(sizeof part, missing), MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) return Received::part;
      if (count <= 0) return Received::end;
      process.received.append(part, static_cast<std::size_t>(count));
    }
  }

  /// In a process, which may wait: false if the worker has ended.
  static bool send_all(int socket, const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) return false;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
    return true;
  }

  /// In a process: the worker's next text; nothing if the worker has ended.
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
