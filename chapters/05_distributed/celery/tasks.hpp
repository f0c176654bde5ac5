/// The tasks of celery_monitor's worker.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "celery/pool.hpp"

namespace celery {

/// Whole numbers stay whole, and a sum that does not fit into 64 bits is an error, not a wrong number.
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

/// Sleeps, and returns when it began and when it ended, in seconds of a clock that all processes of the machine share.
inline json::value nap(double seconds) {
  const double began = timestamp();
  std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(seconds, 0.0, 3600.0)));
  return {began, timestamp()};
}

/// Fails the first n times, and asks each time to be tried again; returns the number of retries.
inline json::value flaky(const Task& task) {
  if (task.args.empty() || !task.args[0].is_int64()) throw TaskError("TypeError", "flaky takes a number of failures");
  if (task.retries < task.args[0].get_int64()) throw Retry{0.05, 3, "not yet"};
  return task.retries;
}

/// Ends the process that executes the task, as a fault of the program would.
inline json::value crash() { return std::raise(SIGKILL); }

/// As Celery does, the name of the application stands before each name.
inline Registry registered_tasks(const std::string& app) {
  Registry registry;
  registry.add(app + ".add", {"x", "y"}, add);
  registry.add(app + ".divide", {"x", "y"}, divide);
  registry.add(app + ".nap", {"seconds"}, nap);
  registry.add(app + ".crash", {}, crash);
  registry.add(app + ".flaky", flaky);
  return registry;
}

}  // namespace celery
