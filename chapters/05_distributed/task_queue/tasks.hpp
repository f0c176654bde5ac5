/// The tasks that a worker has registered: C++ functions that are called with arguments out of a JSON message.
#pragma once

#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "celery.hpp"

namespace task_queue {

/// Thrown by a task that wants to be tried again after a pause.
struct Retry {
  double after_seconds;
  std::int64_t max_retries;  ///< tries after the first; then the task has failed
  std::string why;
};

/// Tasks by name. Filled before the worker's threads start, only read after.
class Registry {
 public:
  using Task = std::function<json::value(const Request&)>;

  void add(const std::string& name, Task task) { tasks_[name] = std::move(task); }

  /// Registers a plain function; a message gives its arguments by position or by these names, as Python would.
  template <typename Returned, typename... Args>
  void add(const std::string& name, std::array<const char*, sizeof...(Args)> names, Returned (*function)(Args...)) {
    add(name,
        [=](const Request& request) { return call(request, names, function, std::index_sequence_for<Args...>()); });
  }

  const std::map<std::string, Task>& tasks() const { return tasks_; }

 private:
  template <typename Returned, typename... Args, std::size_t... i>
  static json::value call(const Request& request, const std::array<const char*, sizeof...(Args)>& names,
                          Returned (*function)(Args...), std::index_sequence<i...>) {
    const std::size_t given = request.args.size();
    if (given > sizeof...(Args)) {
      throw TaskError("TypeError",
                      fmt::format("{} takes {} arguments, {} were given", request.task, sizeof...(Args), given));
    }
    for (const auto& [key, value] : request.kwargs) {
      const auto place = std::find(names.begin(), names.end(), std::string_view(key)) - names.begin();
      if (place == sizeof...(Args) || static_cast<std::size_t>(place) < given) {
        const char* fault = place == sizeof...(Args) ? "does not know" : "has already got";
        throw TaskError("TypeError", fmt::format("{} {} argument '{}'", request.task, fault, std::string_view(key)));
      }
    }
    [[maybe_unused]] const auto argument = [&](std::size_t at) -> const json::value& {
      const json::value* by_name = request.kwargs.if_contains(names[at]);
      if (at >= given && !by_name) {
        throw TaskError("TypeError", fmt::format("{} misses argument '{}'", request.task, names[at]));
      }
      return by_name ? *by_name : request.args[at];
    };
    return function(convert<std::decay_t<Args>>(argument(i), names[i])...);
  }

  template <typename Wanted>
  static Wanted convert(const json::value& value, const char* name) {
    const auto converted = json::try_value_to<Wanted>(value);
    if (!converted) throw TaskError("TypeError", fmt::format("argument '{}' has the wrong type", name));
    return *converted;
  }

  std::map<std::string, Task> tasks_;
};

/// The source's task. Whole numbers stay whole, and one that does not fit into 64 bits is an error, not a wrong number.
inline json::value add(json::value x, json::value y) {
  if (!x.is_number() || !y.is_number()) throw TaskError("TypeError", "add takes two numbers");
  if (!x.is_int64() || !y.is_int64()) return x.to_number<double>() + y.to_number<double>();
  std::int64_t sum;
  if (__builtin_add_overflow(x.get_int64(), y.get_int64(), &sum)) {
    throw TaskError("OverflowError", "the sum does not fit into 64 bits");
  }
  return sum;
}

inline double divide(double x, double y) {
  if (y == 0) throw TaskError("ZeroDivisionError", "division by zero");
  return x / y;
}

/// The process that does the work.
inline std::int64_t process() { return getpid(); }

/// A long task: when it began and when it ended, in milliseconds of the clock that all processes of a machine share.
inline json::value nap(double seconds) {
  using namespace std::chrono;
  const auto now = [] { return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count(); };
  const auto began = now();
  std::this_thread::sleep_for(duration<double>(std::clamp(seconds, 0.0, 3600.0)));
  return {began, now()};
}

/// Waits until another call of it runs in the same worker: whether one came within so many seconds.
inline bool meet(double seconds) {
  static std::mutex guard;
  static std::condition_variable arrived;
  static long arrivals = 0;
  std::unique_lock hold(guard);
  const long pair = arrivals++ / 2;
  arrived.notify_all();
  const bool met = arrived.wait_for(hold, std::chrono::duration<double>(std::clamp(seconds, 0.0, 3600.0)),
                                    [&] { return arrivals >= 2 * pair + 2; });
  if (!met) --arrivals;  // gives up: the next to come must find another partner
  return met;
}

/// A task that fails a few times, and asks each time to be tried again: how often it was tried before it worked.
inline json::value flaky(const Request& request) {
  const json::value* failures = request.args.empty() ? nullptr : &request.args[0];
  if (failures == nullptr || !failures->is_int64()) throw TaskError("TypeError", "flaky takes a number of failures");
  if (request.retries < failures->get_int64()) throw Retry{0.05, 3, "not yet"};
  return request.retries;
}

/// As Celery does, the name of the application stands before each name.
inline Registry registered_tasks(const std::string& app) {
  Registry registry;
  registry.add(app + ".add", {"x", "y"}, add);
  registry.add(app + ".divide", {"x", "y"}, divide);
  registry.add(app + ".process", {}, process);
  registry.add(app + ".nap", {"seconds"}, nap);
  registry.add(app + ".meet", {"seconds"}, meet);
  registry.add(app + ".flaky", flaky);
  return registry;
}

}  // namespace task_queue
