/// A pool of worker processes with the four methods of Python's multiprocessing.Pool.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "dispatcher.hpp"

/// What the future of a task throws that has failed: its number, and what it has thrown, as text.
struct TaskError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Functions are plain ones, arguments and results are bytes: captures and pointers would mean nothing in the workers,
/// which are made in the constructor and see nothing of what this process does later.
///
/// Each result is taken once. If a worker dies, the one task that it was at is done again by another.
class ProcessPool {
 public:
  /// Starts the workers. Best done early: what a child is made from is a copy of this process as it is then.
  explicit ProcessPool(int processes) : dispatcher_(processes) {}

  /// Does one task in a worker, and waits for its result.
  template <typename Result, typename Argument>
  Result apply(Result (*function)(Argument), std::type_identity_t<Argument> argument) {
    return apply_async(function, argument).get();
  }

  /// The same, and returns at once. `callback` gets the result, unless the task has failed. One thread calls all
  /// callbacks, one after another, so each should be short; none may throw.
  template <typename Result, typename Argument>
  std::future<Result> apply_async(Result (*function)(Argument), std::type_identity_t<Argument> argument,
                                  std::type_identity_t<std::function<void(Result)>> callback = {}) {
    return submit<Result>(function, std::vector<Argument>{argument}, 1, std::move(callback),
                          [](std::vector<Result>&& results) { return results.front(); });
  }

  /// function(argument) for each argument, in their order, done in chunks of `chunk` tasks; 0: chunk_size(). Waits.
  template <typename Result, typename Argument>
  std::vector<Result> map(Result (*function)(Argument), const std::vector<Argument>& arguments, std::size_t chunk = 0) {
    return map_async(function, arguments, chunk).get();
  }

  template <typename Result, typename Argument>
  std::future<std::vector<Result>> map_async(
      Result (*function)(Argument), const std::vector<Argument>& arguments, std::size_t chunk = 0,
      std::type_identity_t<std::function<void(const std::vector<Result>&)>> callback = {}) {
    return submit<std::vector<Result>>(function, arguments, chunk, std::move(callback),
                                       [](std::vector<Result>&& results) { return std::move(results); });
  }

  /// Four chunks for each worker, as CPython has it: even if some take longer, all workers are busy almost to the end.
  static std::size_t chunk_size(std::size_t tasks, int processes) {
    const auto chunks = 4 * static_cast<std::size_t>(processes);
    return std::max<std::size_t>((tasks + chunks - 1) / chunks, 1);
  }

  /// After close() no task is taken; then join() waits until all are done and the workers have ended. Without them the
  /// destructor drops what no worker has begun.
  void close() { dispatcher_.close(); }
  void join() { dispatcher_.join(); }

  /// The processes that are workers now, and how many died and were replaced.
  std::vector<pid_t> workers() const { return dispatcher_.workers(); }
  int replaced() const { return dispatcher_.board().replaced; }

 private:
  /// Makes a job of it. When that has ended, `convert` makes the value for callback and future of all results.
  template <typename Value, typename Result, typename Argument, typename Callback, typename Convert>
  std::future<Value> submit(Result (*function)(Argument), const std::vector<Argument>& arguments, std::size_t chunk,
                            Callback callback, Convert convert) {
    static_assert(std::is_trivially_copyable_v<Argument> && std::is_trivially_copyable_v<Result>,
                  "only bytes go from process to process");
    static_assert(sizeof(Argument) <= Place::bytes && sizeof(Result) <= Place::bytes, "and not too many");
    if (chunk == 0) chunk = chunk_size(arguments.size(), dispatcher_.processes());
    const auto promise = std::make_shared<std::promise<Value>>();
    const auto deliver = [promise, callback, convert](Job& job) {
      if (!job.error.empty()) return promise->set_exception(std::make_exception_ptr(TaskError(job.error)));
      std::vector<Result> results(job.count);
      std::copy_n(job.results.data(), job.results.size(), reinterpret_cast<std::byte*>(results.data()));
      Value value = convert(std::move(results));
      if (callback) callback(value);
      promise->set_value(std::move(value));
    };
    const auto* bytes = reinterpret_cast<const std::byte*>(arguments.data());
    dispatcher_.submit({.run = run_tasks<Result, Argument>,
                        .function = reinterpret_cast<void (*)()>(function),
                        .count = arguments.size(),
                        .argument_size = sizeof(Argument),
                        .result_size = sizeof(Result),
                        .chunk = std::min(chunk, Place::bytes / std::max(sizeof(Argument), sizeof(Result))),
                        .arguments = {bytes, bytes + arguments.size() * sizeof(Argument)},
                        .results = std::vector<std::byte>(arguments.size() * sizeof(Result)),
                        .deliver = deliver});
    return promise->get_future();
  }

  Dispatcher dispatcher_;
};
