/// A pool of worker processes with the four methods of Python's multiprocessing.Pool.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chunk_queue.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

/// What the caller of a pool and its workers share.
struct Board {
  ChunkQueue tasks, results;
};

/// Does the tasks of a chunk: each argument is replaced by its result. An exception is replaced by its text.
inline void do_tasks(Chunk& chunk) {
  try {
    for (long& value : std::span(chunk.values, chunk.count)) value = chunk.function(value);
  } catch (const std::exception& error) {
    chunk.failed = true;  // a flag, since the text may be empty
    std::snprintf(chunk.error, sizeof chunk.error, "%s", error.what());
  } catch (...) {  // anything else that a task may throw; it must not end the worker
    chunk.failed = true;
    std::snprintf(chunk.error, sizeof chunk.error, "a task has thrown something that is no std::exception");
  }
}

/// A worker: takes chunks and gives them back with results until no more will come.
inline void work(Board& board) {
  Chunk chunk;
  for (board.tasks.get(chunk); chunk.function != nullptr; board.tasks.get(chunk)) {
    do_tasks(chunk);
    board.results.put(chunk);
  }
}

/// The tasks of one call.
struct Job {
  std::vector<long> results;
  std::size_t left;                   ///< tasks without a result
  std::optional<std::string> error;   ///< the text of what one of them has thrown, if one has
  std::function<void(Job&)> deliver;  ///< called when none is left
};

/// To be used from one thread, and by no callback, which would wait for its own thread. A task is a plain function of a
/// long, which runs in a worker process.
class ProcessPool {
 public:
  using Function = long (*)(long);

  /// Starts the workers. They are copies of this process as it is now, and see nothing of what it does later.
  explicit ProcessPool(int processes) {
    for (int i = 0; i < processes; ++i) workers_.push_back(cookbook::start_child([this] { work(*board_); }));
    collector_ = std::jthread([this] { collect(); });  // after the forks: a child has none of its parent's threads
  }
  /// Waits until all tasks are done and the workers have ended.
  ~ProcessPool() {
    for (std::size_t i = 0; i < workers_.size(); ++i) board_->tasks.put(Chunk{});  // no more tasks will come
    for (const pid_t worker : workers_) cookbook::exit_code_of(worker);
    board_->results.put(Chunk{});
    collector_.join();
  }

  /// Does one task in a worker and waits for its result. Throws std::runtime_error if the task throws.
  long apply(Function function, long argument) { return apply_async(function, argument).get(); }

  /// The same, but returns at once. `callback`, if there is one, gets the result before the future is ready. It runs in
  /// the thread that collects all results, so it should be short. What it throws, the future throws.
  std::future<long> apply_async(Function function, long argument, std::function<void(long)> callback = {}) {
    const auto promise = std::make_shared<std::promise<long>>();
    submit(function, {argument}, 1, [=](Job& job) { fulfil(*promise, job, job.results.front(), callback); });
    return promise->get_future();
  }

  /// function(argument) for each argument, in their order. Waits.
  std::vector<long> map(Function function, const std::vector<long>& arguments, std::size_t chunk = 0) {
    return map_async(function, arguments, {}, chunk).get();
  }

  /// The same, but returns at once, unless more than 64 chunks wait. Chunks are of `chunk` tasks; 0: of chunk_size().
  std::future<std::vector<long>> map_async(Function function, const std::vector<long>& arguments,
                                           std::function<void(const std::vector<long>&)> callback = {},
                                           std::size_t chunk = 0) {
    const auto promise = std::make_shared<std::promise<std::vector<long>>>();
    submit(function, arguments, chunk > 0 ? chunk : chunk_size(arguments.size(), workers_.size()),
           [=](Job& job) { fulfil(*promise, job, std::move(job.results), callback); });
    return promise->get_future();
  }

  /// Up to four chunks per worker, as in CPython: even if some take longer, all workers are busy almost to the end.
  static std::size_t chunk_size(std::size_t tasks, std::size_t processes) {
    return std::max<std::size_t>((tasks + 4 * processes - 1) / (4 * processes), 1);
  }

 private:
  /// Cuts the arguments into chunks for the workers.
  void submit(Function function, const std::vector<long>& arguments, std::size_t chunk,
              std::function<void(Job&)> deliver) {
    const std::size_t tasks = arguments.size();
    auto job = std::make_unique<Job>(Job{std::vector<long>(tasks), tasks, {}, std::move(deliver)});
    Job* const all = job.release();  // it belongs to the collector now, which deletes it
    Chunk next = {function, all, 0, 0, false, "", {}};
    do {  // no arguments are one chunk without tasks: the callback runs in the collector's thread all the same
      next.count = std::min({chunk, tasks - next.first, Chunk::room});
      std::copy_n(arguments.begin() + static_cast<std::ptrdiff_t>(next.first), next.count, next.values);
      board_->tasks.put(next);
      next.first += next.count;
    } while (next.first < tasks);
  }

  /// The thread that collects the results: each chunk knows where in which job it belongs.
  void collect() {
    Chunk chunk;
    for (board_->results.get(chunk); chunk.job != nullptr; board_->results.get(chunk)) {
      Job& job = *chunk.job;
      std::copy_n(chunk.values, chunk.count, job.results.begin() + static_cast<std::ptrdiff_t>(chunk.first));
      if (chunk.failed) job.error = chunk.error;
      job.left -= chunk.count;
      if (job.left > 0) continue;
      const std::unique_ptr<Job> finished(&job);
      job.deliver(job);
    }
  }

  /// Sets the future: to the job's error, or, after the callback, to the value.
  template <typename Value, typename Callback>
  static void fulfil(std::promise<Value>& promise, const Job& job, Value value, const Callback& callback) {
    try {
      if (job.error) throw std::runtime_error(*job.error);
      if (callback) callback(value);
      promise.set_value(std::move(value));
    } catch (...) {  // an exception must not leave the collector, which has other results to wait for
      promise.set_exception(std::current_exception());
    }
  }

  const Shared<Board> board_;
  std::vector<pid_t> workers_;
  std::jthread collector_;
};
