/// The functions that a worker can be asked for, by name.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "protocol.hpp"

namespace celery {

/// Thrown by a task that wants to be tried again after a pause.
struct Retry {
  double after_seconds;
  std::int64_t max_retries;  ///< tries after the first; then the task has failed
  std::string why;
};

class Registry {
 public:
  using Function = std::function<json::value(const Task&)>;

  /// Registers a function that gets the whole task.
  void add(const std::string& name, Function function) { functions_[name] = std::move(function); }

  /// Registers a plain function; a message gives its arguments by position or by these names, as Python would.
  template <typename Returned, typename... Args>
  void add(const std::string& name, std::array<const char*, sizeof...(Args)> names, Returned (*function)(Args...)) {
    add(name, [=](const Task& task) { return call(task, names, function, std::index_sequence_for<Args...>()); });
  }

  const std::map<std::string, Function>& functions() const { return functions_; }

 private:
  template <typename Returned, typename... Args, std::size_t... i>
  static json::value call(const Task& task, const std::array<const char*, sizeof...(Args)>& names,
                          Returned (*function)(Args...), std::index_sequence<i...>) {
    const std::size_t given = task.args.size();
    if (given > sizeof...(Args)) throw TaskError("TypeError", task.name + " was given too many arguments");
    for (const auto& [key, value] : task.kwargs) {
      const auto place =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), std::string_view(key)) - names.begin());
      if (place == names.size())
        throw TaskError("TypeError", task.name + " does not know argument " + std::string(key));
      if (place < given) throw TaskError("TypeError", task.name + " has already got argument " + std::string(key));
    }
    [[maybe_unused]] const auto argument = [&](std::size_t at) -> const json::value& {
      const json::value* by_name = task.kwargs.if_contains(names[at]);
      if (at >= given && !by_name) throw TaskError("TypeError", task.name + " misses argument " + names[at]);
      return by_name ? *by_name : task.args[at];
    };
    return function(convert<std::decay_t<Args>>(argument(i), names[i])...);
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
