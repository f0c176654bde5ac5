/// A pool of worker processes that loses no task when a worker dies.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <deque>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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
  /// all others are done.
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
    if (worker.socket == -1) start(worker);
    worker.task = job.waiting.front();
    job.waiting.pop_front();
    send(worker.socket, &job.arguments[*worker.task], sizeof(long), MSG_NOSIGNAL);  // if it has died, its socket ends
  }

  /// Reads what a worker has sent: its result or, if it has died, the end of the socket.
  void hear(Job& job, Worker& worker) {
    long result = 0;
    const bool lives = recv(worker.socket, &result, sizeof result, 0) == sizeof result;
    if (!lives) end(worker);
    if (!worker.task) return;  // it has died without a task
    const std::size_t task = *std::exchange(worker.task, std::nullopt);
    if (lives) {
      job.results[task] = result;
      --job.left;
    } else if (++job.deaths[task] < max_deaths) {
      job.waiting.push_front(task);
    } else {
      job.error = fmt::format("task {}: {} workers died at it", task, max_deaths);
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
    close(ends[1]);  // so that this process sees the end of the socket when the worker dies
    worker.socket = ends[0];
  }

  static void end(Worker& worker) {
    if (worker.socket == -1) return;
    shutdown(worker.socket, SHUT_RDWR);
    close(worker.socket);
    worker.socket = -1;
    cookbook::exit_code_of(worker.process);
  }

  /// Waits until a worker has sent something or has died; all of which there is news.
  std::vector<Worker*> wait_for_news() {
    std::vector<pollfd> sockets;
    for (const Worker& worker : workers_) sockets.push_back({worker.socket, POLLIN, 0});  // poll passes over -1
    while (poll(sockets.data(), sockets.size(), -1) == -1) check(errno == EINTR ? 0 : -1, "poll");
    std::vector<Worker*> heard;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents != 0) heard.push_back(&workers_[i]);
    }
    return heard;
  }

  const Function function_;
  std::vector<Worker> workers_;
};
