/// Two ways to make n calls of a function, with the same results.
#pragma once

#include <functional>
#include <future>
#include <type_traits>
#include <vector>

/// Calls the function n times, one call after another, and returns the results.
template <typename Function>
auto one_by_one(int n, Function function) {
  std::vector<std::invoke_result_t<Function&>> results;
  for (int i = 0; i < n; ++i) results.push_back(function());
  return results;
}

/// Calls the function once in each of n new threads, and returns the results. What a call throws, this throws as well,
/// after all threads have ended.
template <typename Function>
auto in_threads(int n, Function function) {
  std::vector<std::future<std::invoke_result_t<Function&>>> calls;
  for (int i = 0; i < n; ++i) calls.push_back(std::async(std::launch::async, std::ref(function)));

  std::vector<std::invoke_result_t<Function&>> results;
  for (auto& call : calls) results.push_back(call.get());  // waits for the thread
  return results;
}
