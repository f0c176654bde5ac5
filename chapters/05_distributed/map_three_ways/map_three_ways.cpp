// Map, three ways
//
// The same function is applied to each element of a list, and the results are collected in the same order. Who calls
// it, and when? A loop, std::transform with a named function, and std::transform with a lambda make the same calls in
// the same thread, one after another. With one more argument, an execution policy, several threads make them. A view
// makes them only when it is read. The output has a letter per element, for the thread that has made its call.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/map_three_ways/map_three_ways.cpp common/cookbook/*.cpp -lfmt -ltbb -pthread -o map_three_ways
// Run:     map_three_ways [--items N] [--work-us N]

#include <algorithm>
#include <chrono>
#include <execution>
#include <iterator>
#include <numeric>
#include <ranges>
#include <string_view>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Items = std::vector<long>;

Calls calls;                       // counts them, and the threads that make them
std::chrono::microseconds work{};  // main() says how long

/// Returns `result` after a while: a sleep stands for what it takes to compute it.
long computed(long result) {
  calls.note(result);
  std::this_thread::sleep_for(work);
  return result;
}

long doubled(long item) { return computed(2 * item); }

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
  std::transform(items.begin(), items.end(), std::back_inserter(results), [](long item) { return computed(2 * item); });
  return results;
}

Items in_parallel(const Items& items) {
  Items results(items.size());  // the places exist before the calls begin, so each result goes to its own
  std::transform(std::execution::par, items.begin(), items.end(), results.begin(), doubled);
  return results;
}

/// Prints what `map` has cost, and returns what it has returned.
template <typename Map>
auto measure(std::string_view name, Map map) {
  calls.reset();
  const cookbook::Stopwatch watch;
  auto results = map();
  const double ms = watch.seconds() * 1e3;
  const std::string letters = calls.letters();
  cookbook::println("{:<20}{:7}{:9}{:10.1f} ms{}{}", name, calls.number(), calls.threads(), ms,
                    letters.empty() ? "" : "  ", letters);
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  long count = 10, work_us = 1000;
  cookbook::Options options("Apply a function to each element of a list");
  options.add("items", count, "elements of the list", 0, 10'000'000);
  options.add("work-us", work_us, "what one result takes, in microseconds", 0, 1'000'000);
  options.parse(argc, argv);
  work = std::chrono::microseconds(work_us);

  Items items(count);
  std::iota(items.begin(), items.end(), 1);

  cookbook::println("                      calls  threads       time  thread of each element");
  std::vector<Items> results;
  results.push_back(measure("a loop", [&] { return by_loop(items); }));
  results.push_back(measure("a named function", [&] { return by_named_function(items); }));
  results.push_back(measure("a lambda", [&] { return by_lambda(items); }));
  results.push_back(measure("on several threads", [&] { return in_parallel(items); }));
  const auto view = measure("a view, made", [&] { return items | std::views::transform(doubled); });
  results.push_back(measure("a view, read", [&] { return Items(view.begin(), view.end()); }));
  if (count <= Calls::few) cookbook::println("each result: {}", fmt::join(results.back(), " "));

  Items expected(count);  // not by doubled(), which is to be checked
  for (long i = 0; i < count; ++i) expected[i] = (i + 1) + (i + 1);
  cookbook::Checks checks;
  checks.equal("lists that have each number doubled, in the same order",
               std::count(results.begin(), results.end(), expected), 5);
  return checks.exit_code();
}
