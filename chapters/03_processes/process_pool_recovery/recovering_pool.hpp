/// A pool of worker processes that loses no task when a worker dies.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <deque>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern "C" {  // glibc 2.36 leaves this to those who include the file
#include <sys/pidfd.h>
}

#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

/// To be used in one thread, in a process that has no others: it starts workers by fork whenever it needs them.
class RecoveringPool {
 public:
  using Function = long (*)(long);
  static constexpr int max_deaths = 3;  ///< of workers that had a task; then the task is given up

  /// The tasks are function(argument).
  RecoveringPool(int processes, Function function) : function_(function), workers_(processes) {}
  ~RecoveringPool() {
    for (Worker& worker : workers_) end(worker);
  }
  RecoveringPool(const RecoveringPool&) = delete;
  RecoveringPool& operator=(const RecoveringPool&) = delete;

  /// function(argument) for each argument, in their order. Throws std::runtime_error if a task has been given up, after
  /// all others are done or given up; it names the first one, by its argument.
  std::vector<long> map(const std::vector<long>& arguments) {
    const std::size_t tasks = arguments.size();
    Job job = {arguments, std::vector<long>(tasks), std::vector<int>(tasks), std::deque<std::size_t>(tasks), tasks, ""};
    std::iota(job.waiting.begin(), job.waiting.end(), 0);
    while (job.left > 0) {
      for (Worker& worker : workers_) hand_out(job, worker);
      for (Worker* worker : wait_for_news()) hear(job, *worker);
    }
    if (!job.error.empty()) throw std::runtime_error(job.error);
    return job.results;
  }

 private:
  struct Worker {
    pid_t process = 0;
    int pidfd = -1;                        ///< stands for the process, and becomes readable when it has ended
    int socket = -1;                       ///< tasks go out through it, results come back; -1: there is no process
    std::optional<std::size_t> task = {};  ///< the task that it has
  };
  struct Job {  // one call of map
    const std::vector<long>& arguments;
    std::vector<long> results;
    std::vector<int> deaths;          // of workers, at each task
    std::deque<std::size_t> waiting;  // tasks that no worker has
    std::size_t left;                 // tasks that are neither done nor given up
    std::string error;
  };

  void hand_out(Job& job, Worker& worker) {
    if (job.waiting.empty() || worker.task) return;
    const bool is_new = worker.socket == -1;
    if (is_new) start(worker);
    const std::size_t task = job.waiting.front();
    const bool is_sent = send(worker.socket, &job.arguments[task], sizeof(long), MSG_NOSIGNAL) != -1;
    if (!is_sent && !is_new) return;  // it has died without a task, as its pidfd will say
    worker.task = task;
    job.waiting.pop_front();
  }

  /// Reads the result that a worker has sent. If there is none, the news was its death.
  void hear(Job& job, Worker& worker) {
    long result = 0;
    const bool has_sent = recv(worker.socket, &result, sizeof result, MSG_DONTWAIT) == sizeof result;
    if (!has_sent) {
      pidfd_send_signal(worker.pidfd, SIGKILL, nullptr, 0);  // if it has only closed its socket: ends it
      end(worker);
    }
    if (!worker.task) return;  // it has died without a task
    const std::size_t task = *std::exchange(worker.task, std::nullopt);
    if (has_sent) {
      job.results[task] = result;
      --job.left;
    } else if (++job.deaths[task] < max_deaths) {
      job.waiting.push_front(task);
    } else {
      if (job.error.empty()) {
        job.error = fmt::format("task {}: {} workers died at it", job.arguments[task], max_deaths);
      }
      --job.left;
    }
  }

  void start(Worker& worker) const {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    worker.process = cookbook::start_child([&] {
      for (long value = 0; recv(ends[1], &value, sizeof value, 0) == sizeof value;) {
        value = function_(value);
        send(ends[1], &value, sizeof value, MSG_NOSIGNAL);  // an error instead of a signal if the pool has gone
      }
    });
    close(ends[1]);
    worker.socket = ends[0];
    worker.pidfd = check(pidfd_open(worker.process, 0), "pidfd_open");
  }

  static void end(Worker& worker) {
    if (worker.socket == -1) return;
    // A worker that waits for a task sees the end of the socket, and ends. Only to close it would not do: workers that
    // were started later have copies.
    shutdown(worker.socket, SHUT_RDWR);
    close(std::exchange(worker.socket, -1));
    close(std::exchange(worker.pidfd, -1));
    cookbook::exit_code_of(worker.process);
  }

  /// Waits until a worker has sent something or has died; all of which there is news.
  std::vector<Worker*> wait_for_news() {
    std::vector<pollfd> news;  // two for each worker; poll passes over -1
    for (const Worker& worker : workers_) {
      news.push_back({worker.socket, POLLIN, 0});
      news.push_back({worker.pidfd, POLLIN, 0});
    }
    while (poll(news.data(), news.size(), -1) == -1) check(errno == EINTR ? 0 : -1, "poll");
    std::vector<Worker*> heard;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (news[2 * i].revents != 0 || news[2 * i + 1].revents != 0) heard.push_back(&workers_[i]);
    }
    return heard;
  }

  const Function function_;
  std::vector<Worker> workers_;
};
