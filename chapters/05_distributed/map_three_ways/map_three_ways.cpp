// Map, three ways
//
// The same function is applied to each element of a list, and the results are collected in the same order: at once by
// the thread that asks, at once by several threads, or later, when a view is read. The output has the number of calls
// and of threads, and a letter per element, for the thread that has made its call. A view that is filtered makes more
// calls than there are elements, and stored results do not.
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

long doubled(long item) {
  calls.note(item);
  std::this_thread::sleep_for(work);  // stands for work
  return 2 * item;
}

Items by_loop(const Items& items) {
  Items results;
  for (const long item : items) results.push_back(doubled(item));
  return results;
}

Items by_transform(const Items& items) {
  Items results;
  std::transform(items.begin(), items.end(), std::back_inserter(results), doubled);
  return results;
}

Items in_parallel(const Items& items) {
  Items results(items.size());  // the places exist before the calls begin, so each result goes to its own
  std::transform(std::execution::par, items.begin(), items.end(), results.begin(), doubled);
  return results;
}

auto later(const Items& items) { return items | std::views::transform(doubled); }

Items read(auto view) {
  Items results;
  for (const long result : view) results.push_back(result);
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
  const Items results = measure("a loop", [&] { return by_loop(items); });
  const Items transformed = measure("std::transform", [&] { return by_transform(items); });
  const Items parallel = measure("on several threads", [&] { return in_parallel(items); });
  const auto view = measure("a view, made", [&] { return later(items); });
  const Items viewed = measure("a view, read", [&] { return read(view); });
  const auto large = [&](long result) { return result > count; };
  const Items filtered = measure("a view, filtered", [&] { return read(view | std::views::filter(large)); });
  const Items stored_first = measure("stored, filtered", [&] {
    const Items stored = read(view);
    return read(stored | std::views::filter(large));
  });

  if (count <= Calls::few) cookbook::println("each result: {}", fmt::join(results, " "));
  cookbook::Checks checks;
  checks.that("each way has the results of the loop",
              transformed == results && parallel == results && viewed == results &&
                  std::ranges::equal(filtered, results | std::views::drop(count / 2)) && stored_first == filtered);
  return checks.exit_code();
}
