// Map, three ways
//
// The same function is applied to each element of a list, and the results are collected in the same order: by a loop,
// by std::transform with a named function, and by std::transform with a lambda. This is the pattern that all parallel
// maps have in common. The last two forms show what comes next: a view, which computes when it is read, and a map on
// several threads, which needs one more argument.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/map_three_ways/map_three_ways.cpp common/cookbook/*.cpp -lfmt -ltbb -pthread -o map_three_ways
// Run:     map_three_ways [--items N]

#include <algorithm>
#include <execution>
#include <iterator>
#include <numeric>
#include <ranges>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Items = std::vector<long>;

long doubled(long item) { return 2 * item; }

Items by_loop(const Items& items) {
  Items results;
  for (const long item : items) results.push_back(doubled(item));
  return results;
}

Items by_named_function(const Items& items) {
  Items results;
  std::transform(items.begin(), items.end(), std::back_inserter(results), doubled);
  return results;
}

Items by_lambda(const Items& items) {
  Items results;
  std::transform(items.begin(), items.end(), std::back_inserter(results), [](long item) { return 2 * item; });
  return results;
}

Items by_view(const Items& items) {
  const auto view = items | std::views::transform(doubled);  // computes nothing yet
  return Items(view.begin(), view.end());                    // computes each result when it is read
}

Items in_parallel(const Items& items) {
  Items results(items.size());  // the places exist before the threads start, so each result goes to its own
  std::transform(std::execution::par, items.begin(), items.end(), results.begin(), doubled);
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  long count = 10;
  cookbook::Options options("Apply a function to each element of a list");
  options.add("items", count, "elements of the list", 0, 10'000'000);
  options.parse(argc, argv);

  Items items(count);
  std::iota(items.begin(), items.end(), 1);
  const Items looped = by_loop(items);
  if (count <= 20) cookbook::println("{}", fmt::join(looped, " "));

  Items expected(count), untouched(count);
  for (long i = 0; i < count; ++i) {
    expected[i] = (i + 1) + (i + 1);  // not by doubled(), which is to be checked
    untouched[i] = i + 1;
  }
  cookbook::Checks checks;
  checks.that("a loop: the numbers doubled, in the same order", looped == expected);
  checks.that("a named function: the same", by_named_function(items) == expected);
  checks.that("a lambda: the same", by_lambda(items) == expected);
  checks.that("a view: the same", by_view(items) == expected);
  checks.that("on several threads: the same", in_parallel(items) == expected);
  checks.that("the list itself is unchanged", items == untouched);
  return checks.exit_code();
}
