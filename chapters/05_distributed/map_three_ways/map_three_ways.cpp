// Map, three ways
//
// The same function is applied to each element of a list, and the results are collected in the same order: by a loop,
// by std::transform with a named function, and by std::transform with a lambda. All three make the same calls in the
// same thread, one after another. Two more forms differ from these: a view makes its calls when it is read, and with
// one more argument, an execution policy, std::transform makes them on several threads. The program counts the calls
// and the threads.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/map_three_ways/map_three_ways.cpp common/cookbook/*.cpp -lfmt -ltbb -pthread -o map_three_ways
// Run:     map_three_ways [--items N] [--work-us N]

#include <algorithm>
#include <chrono>
#include <execution>
#include <iterator>
#include <mutex>
#include <numeric>
#include <ranges>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Items = std::vector<long>;

/// Who has called since the last reset(). For the table alone; a function that is to be mapped should change nothing.
class Calls {
 public:
  void note() {
    const std::scoped_lock lock(mutex_);
    ++number_;
    threads_.insert(std::this_thread::get_id());
  }
  void reset() { number_ = 0, threads_.clear(); }
  long number() const { return number_; }
  std::size_t threads() const { return threads_.size(); }

 private:
  std::mutex mutex_;
  long number_ = 0;
  std::set<std::thread::id> threads_;
} calls;

std::chrono::microseconds work{};  // main() says how long

/// Returns `result` after a while: a sleep stands for what it takes to compute it.
long computed(long result) {
  calls.note();
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
  cookbook::println("{:<20}{:7}{:9}{:10.1f} ms", name, calls.number(), calls.threads(), watch.seconds() * 1e3);
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

  cookbook::println("                      calls  threads       time");
  std::vector<Items> results;
  results.push_back(measure("a loop", [&] { return by_loop(items); }));
  results.push_back(measure("a named function", [&] { return by_named_function(items); }));
  results.push_back(measure("a lambda", [&] { return by_lambda(items); }));
  const auto view = measure("a view, made", [&] { return items | std::views::transform(doubled); });
  results.push_back(measure("a view, read", [&] { return Items(view.begin(), view.end()); }));
  results.push_back(measure("on several threads", [&] { return in_parallel(items); }));
  if (count <= 20) cookbook::println("each result: {}", fmt::join(results.back(), " "));

  Items expected(count);  // not by doubled(), which is to be checked
  for (long i = 0; i < count; ++i) expected[i] = (i + 1) + (i + 1);
  cookbook::Checks checks;
  checks.equal("lists that have each number doubled, in the same order",
               std::count(results.begin(), results.end(), expected), 5);
  return checks.exit_code();
}
