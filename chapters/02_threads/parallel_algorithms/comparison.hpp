/// Runs the forms of one job and prints a row of times, which is how parallel_algorithms.cpp shows what each gains.
#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"

/// Gives `form` a fresh copy of `numbers`, three times, or once if that takes longer than 0.3 seconds. Returns the
/// shortest time in microseconds, and in `result` what the form returns or, if it returns nothing, the numbers as it
/// has left them.
template <typename Number, typename Form>
double shortest_time(Form form, const std::vector<Number>& numbers, std::vector<Number>& result) {
  double shortest = 1e18;
  for (int run = 0; run == 0 || (run < 3 && shortest < 300'000); ++run) {
    std::vector<Number> copy = numbers;
    const cookbook::Stopwatch watch;
    if constexpr (std::is_void_v<decltype(form(copy))>) {
      form(copy);
      shortest = std::min(shortest, watch.seconds() * 1e6);
      result = std::move(copy);
    } else {
      result = {form(copy)};
      shortest = std::min(shortest, watch.seconds() * 1e6);
    }
  }
  return shortest;
}

/// Prints the time of the sequential form, and how many times as fast the two parallel ones are. Returns how many of
/// these have another result.
template <typename Number, typename Sequential, typename Par, typename Tbb>
int compare(std::string_view job, const std::vector<Number>& numbers, Sequential sequential, Par with_par,
            Tbb with_tbb) {
  std::vector<Number> expected, by_par, by_tbb;
  const double base = shortest_time(sequential, numbers, expected);
  const double par = shortest_time(with_par, numbers, by_par), tbb = shortest_time(with_tbb, numbers, by_tbb);
  cookbook::println("{:<10}{:12.0f} us{:12.2f} x{:12.2f} x", job, base, base / par, base / tbb);
  return (by_par != expected) + (by_tbb != expected);
}
