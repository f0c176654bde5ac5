/// Three computations, each a coroutine that sleeps for a second after each step.
#pragma once

#include <boost/asio.hpp>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cookbook/print.hpp"
#include "loop_time.hpp"

/// What the coroutines share. There is no lock, because all of them run in one thread.
struct Steps {
  LoopTime& time;
  std::function<void(const std::string&)> print;
  std::set<std::thread::id> threads = {};  // in which they have run

  void say(const std::string& line) {
    threads.insert(std::this_thread::get_id());
    print(line);
  }

  boost::asio::awaitable<void> sleep() { return time.sleep(1); }
};

inline boost::asio::awaitable<long> factorial(Steps& steps, int n) {
  long product = 1;
  for (int i = 2; i <= n; ++i) {
    steps.say(fmt::format("Asio task: Compute factorial({})", i));
    co_await steps.sleep();
    product *= i;
  }
  steps.say(fmt::format("Asio task - factorial({}) = {}", n, product));
  co_return product;
}

inline boost::asio::awaitable<long> fibonacci(Steps& steps, int n) {
  long a = 0, b = 1;
  for (int i = 0; i < n; ++i) {
    steps.say(fmt::format("Asio task: Compute fibonacci({})", i));
    co_await steps.sleep();
    a = std::exchange(b, a + b);
  }
  steps.say(fmt::format("Asio task - fibonacci({}) = {}", n, a));
  co_return a;
}

/// n choose k.
inline boost::asio::awaitable<long> binomial(Steps& steps, int n, int k) {
  long result = 1;
  for (int i = 1; i <= k; ++i) {
    result = result * (n - i + 1) / i;  // without remainder: after step i it is n choose i
    steps.say(fmt::format("Asio task: Compute binomialCoeff({})", i));
    co_await steps.sleep();
  }
  steps.say(fmt::format("Asio task - binomialCoeff({}, {}) = {}", n, k, result));
  co_return result;
}
