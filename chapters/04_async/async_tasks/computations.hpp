/// Three computations, each a coroutine that sleeps for a second after each step.
#pragma once

#include <boost/asio.hpp>
#include <functional>
#include <string>
#include <utility>

#include "cookbook/print.hpp"
#include "loop_time.hpp"

/// What the coroutines share. There is no lock, because all of them run in one thread.
struct Steps {
  LoopTime& time;
  std::function<void(const std::string&)> print;

  boost::asio::awaitable<void> sleep() { return time.sleep(1); }
};

inline boost::asio::awaitable<long> factorial(Steps& steps, int n) {
  long product = 1;
  for (int i = 2; i <= n; ++i) {
    steps.print(fmt::format("compute factorial({})", i));
    co_await steps.sleep();
    product *= i;
  }
  steps.print(fmt::format("factorial({}) = {}", n, product));
  co_return product;
}

inline boost::asio::awaitable<long> fibonacci(Steps& steps, int n) {
  long a = 0, b = 1;
  for (int i = 0; i < n; ++i) {
    steps.print(fmt::format("compute fibonacci({})", i));
    co_await steps.sleep();
    a = std::exchange(b, a + b);
  }
  steps.print(fmt::format("fibonacci({}) = {}", n, a));
  co_return a;
}

/// n choose k.
inline boost::asio::awaitable<long> binomial(Steps& steps, int n, int k) {
  long result = 1;
  for (int i = 1; i <= k; ++i) {
    result = result * (n - i + 1) / i;  // without remainder: after step i it is n choose i
    steps.print(fmt::format("compute binomialCoeff({})", i));
    co_await steps.sleep();
  }
  steps.print(fmt::format("binomialCoeff({}, {}) = {}", n, k, result));
  co_return result;
}
