/// The functions that a worker can be asked for, by name.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "celery/message.hpp"

namespace celery {

/// Thrown by a task that wants to be tried again after a pause.
struct Retry {
  double after_seconds;
  std::int64_t max_retries;  ///< tries after the first; then the task has failed
  std::string why;
};

/// The arguments of a task in the order of `names`, given by position or by name, as Python would take them. Throws
/// TaskError if one is missing, unknown, or given twice.
inline json::array arguments_in_order(const Task& task, std::span<const std::string> names) {
  const auto wrong = [&](const std::string& what) { return TaskError("TypeError", task.name + " " + what); };
  if (task.args.size() > names.size()) throw wrong("was given too many arguments");
  json::array all = task.args;
  for (const std::string& name : names.subspan(all.size())) {
    const json::value* value = task.kwargs.if_contains(name);
    if (!value) throw wrong("misses argument " + name);
    all.push_back(*value);
  }
  for (const auto& [key, value] : task.kwargs) {
    const auto place = std::find(names.begin(), names.end(), std::string_view(key)) - names.begin();
    if (place == std::ssize(names)) throw wrong("does not know argument " + std::string(key));
    if (place < std::ssize(task.args)) throw wrong("has already got argument " + std::string(key));
  }
  return all;
}

class Registry {
 public:
  using Function = std::function<json::value(const Task&)>;

  /// Registers a function that gets the whole task.
  void add(const std::string& name, Function function) { functions_[name] = std::move(function); }

  /// Registers a plain function, whose arguments have these names. A TaskError that it throws goes to the client.
  template <typename Returned, typename... Args>
  void add(const std::string& name, std::array<std::string, sizeof...(Args)> names, Returned (*function)(Args...)) {
    add(name, [=](const Task& task) { return call(task, names, function, std::index_sequence_for<Args...>()); });
  }

  const std::map<std::string, Function>& functions() const { return functions_; }

  /// Throws TaskError if there is no such function.
  const Function& at(const std::string& name) const {
    const auto found = functions_.find(name);
    if (found == functions_.end()) throw TaskError("NotRegistered", name, "celery.exceptions");
    return found->second;
  }

 private:
  template <typename Returned, typename... Args, std::size_t... i>
  static json::value call(const Task& task, [[maybe_unused]] const std::array<std::string, sizeof...(Args)>& names,
                          Returned (*function)(Args...), std::index_sequence<i...>) {
    [[maybe_unused]] const json::array values = arguments_in_order(task, names);
    return json::value_from(function(convert<std::decay_t<Args>>(values[i], names[i])...));
  }

  template <typename Wanted>
  static Wanted convert(const json::value& value, const std::string& name) {
    const auto converted = json::try_value_to<Wanted>(value);
    if (!converted) throw TaskError("TypeError", "argument " + name + " has the wrong type");
    return *converted;
  }

  std::map<std::string, Function> functions_;
};

}  // namespace celery
