/// The processes that execute a worker's tasks. A task can be killed there, when its time is over or when it is
/// revoked, and a task that crashes takes no other task along.
#pragma once

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <variant>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/system_check.hpp"
#include "registry.hpp"

namespace celery {

/// A task that the broker has delivered, and whose message is acknowledged when the task is done, not before.
struct Job {
  long session;  ///< counts the worker's connections, since a delivery belongs to one of them
  amqp::Delivery delivery;
  Task task;
};

struct Done {
  Job job;
  std::variant<Result, Retry> outcome;
  double seconds;
};

class Pool {
 public:
  Pool(int processes, const Registry& registry) : registry_(registry), processes_(static_cast<std::size_t>(processes)) {
    for (Process& process : processes_) start(process);
  }
  ~Pool() {
    for (Process& process : processes_) end(process);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool has_idle() const {
    return std::any_of(processes_.begin(), processes_.end(), [](const Process& process) { return !process.job; });
  }
  bool all_idle() const { return running().empty(); }

  /// Gives a task to an idle process.
  void execute(Job job) {
    Process& process = *std::find_if(processes_.begin(), processes_.end(), [](const Process& one) { return !one.job; });
    const Task& task = job.task;
    send(process.socket, json::serialize(json::value{task.name, task.id, task.args, task.kwargs, task.retries}));
    process.end_reason.reset();
    process.job = std::move(job);
    process.started = now();
  }

  struct Running {
    const Job& job;
    pid_t pid;
    Time started;
  };
  std::vector<Running> running() const {
    std::vector<Running> all;
    for (const Process& process : processes_) {
      if (process.job) all.push_back({*process.job, process.pid, process.started});
    }
    return all;
  }
  std::vector<pid_t> pids() const {
    std::vector<pid_t> all;
    for (const Process& process : processes_) all.push_back(process.pid);
    return all;
  }

  /// Kills the process that executes a task, if one does; the task ends with `reason`.
  void kill_task(const std::string& id, const Result& reason) {
    for (Process& process : processes_) {
      if (process.job && process.job->task.id == id) kill(process, reason);
    }
  }

  /// For poll().
  std::vector<pollfd> descriptors() const {
    std::vector<pollfd> all;
    for (const Process& process : processes_) all.push_back({process.socket, POLLIN, 0});
    return all;
  }

  /// Kills the tasks whose time is over, and returns what has ended.
  std::vector<Done> finished() {
    std::vector<Done> done;
    for (Process& process : processes_) {
      enforce_limits(process);
      pollfd ready = {process.socket, POLLIN, 0};
      if (poll(&ready, 1, 0) < 1) continue;
      std::optional<std::string> answer = receive(process.socket);
      if (!answer) {  // it has ended
        end(process);
        start(process);
      }
      if (!process.job) continue;
      const TaskError lost("WorkerLostError", "the process that executed the task has ended", "billiard.exceptions");
      const auto outcome = answer ? read_outcome(*answer) : process.end_reason.value_or(failure(lost));
      done.push_back({std::move(*process.job), outcome, timestamp() - timestamp(process.started)});
      process.job.reset();
    }
    return done;
  }

 private:
  struct Process {
    pid_t pid = -1;
    int socket = -1;
    std::optional<Job> job = {};
    Time started = {};
    std::optional<Result> end_reason = {};  ///< why it was killed
  };

  void start(Process& process) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    const pid_t worker = getpid();
    process.pid = check(fork(), "fork");
    process.socket = ends[0];
    if (process.pid == 0) live(ends[1], worker);
    close(ends[1]);
  }

  static void end(Process& process) {
    ::kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    close(process.socket);
  }

  static void kill(Process& process, const Result& reason) {
    if (process.end_reason) return;
    process.end_reason = reason;
    ::kill(process.pid, SIGKILL);
  }

  static void enforce_limits(Process& process) {
    if (!process.job) return;
    const Task& task = process.job->task;
    const auto over = [&](const std::optional<double>& limit) {
      return limit && after(*limit, process.started) <= now();
    };
    const auto exceeded = [](const std::string& type, double limit) {
      return failure({type, fmt::format("{}", limit), "billiard.exceptions"});
    };
    if (over(task.soft_limit)) kill(process, exceeded("SoftTimeLimitExceeded", *task.soft_limit));
    if (over(task.time_limit)) kill(process, exceeded("TimeLimitExceeded", *task.time_limit));
  }

  /// The life of a process: takes one task after another. The connection to the broker, and all else that is open, is
  /// the worker's alone.
  [[noreturn]] void live(int socket, pid_t worker) const noexcept {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker) _exit(0);
    std::signal(SIGTERM, SIG_DFL);
    if (socket != 3) dup2(socket, 3);
    close_range(4, ~0U, 0);
    while (const std::optional<std::string> text = receive(3)) {
      const json::value fields = json::parse(*text);
      const json::array& field = fields.get_array();
      Task task = {json::value_to<std::string>(field[0]), json::value_to<std::string>(field[1]), field[2].get_array(),
                   field[3].get_object()};
      task.retries = field[4].get_int64();
      send(3, json::serialize(run(task)));
    }
    _exit(0);
  }

  /// ["SUCCESS", value], ["FAILURE", type, message, module] or ["RETRY", seconds, retries, why].
  json::array run(const Task& task) const {
    try {
      try {
        return {"SUCCESS", registry_.functions().at(task.name)(task)};
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
    const json::array& field = fields.get_array();
    const auto string = [&](std::size_t i) { return json::value_to<std::string>(field[i]); };
    if (field[0] == "SUCCESS") return Result{"SUCCESS", field[1]};
    if (field[0] == "RETRY") return Retry{field[1].to_number<double>(), field[2].get_int64(), string(3)};
    return failure(TaskError(string(1), string(2), string(3)));
  }

  /// A text goes through a socket behind its length. If the other process is gone, nothing is sent.
  static void send(int socket, const std::string& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    std::string all(reinterpret_cast<const char*>(&length), sizeof length);
    all += text;
    for (std::size_t sent = 0; sent < all.size();) {
      const ssize_t count = ::send(socket, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) return;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
  }

  /// Nothing if the other process has ended.
  static std::optional<std::string> receive(int socket) {
    std::uint32_t length;
    if (recv(socket, &length, sizeof length, MSG_WAITALL) != sizeof length) return {};
    std::string text(length, '\0');
    if (recv(socket, text.data(), length, MSG_WAITALL) != static_cast<ssize_t>(length)) return {};
    return text;
  }

  const Registry& registry_;
  std::vector<Process> processes_;
};

}  // namespace celery
