// Four programming models
//
// One dot product by shared memory, by futures, by messages between processes, and data parallel (models.hpp). Beside
// the time of each the program prints what its tasks have exchanged. All do the same multiplications, but two of them
// exchange so much that they are slower than one task that does all of the work.
//
// Compile: g++ -std=c++20 -O3 -Icommon chapters/01_getting_started/programming_models/programming_models.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o programming_models
// Run:     programming_models [--numbers N] [--tasks N]

#include <tbb/global_control.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "models.hpp"

namespace {

/// Prints the shortest time of all runs, and what was exchanged in the last one. Returns how many of them did not give
/// the expected sum. There are at least three runs, and more in the first 0.1 s: the first passes over the same numbers
/// take longer than later ones.
template <typename Model>
int measure(std::string_view name, const std::size_t& exchanged, std::string_view unit, Sum expected, Model model) {
  double shortest = 1e9;
  int wrong = 0;
  const cookbook::Stopwatch all_runs;
  for (int i = 0; i < 3 || all_runs.seconds() < 0.1; ++i) {
    const cookbook::Stopwatch watch;
    wrong += model() != expected;
    shortest = std::min(shortest, watch.seconds());
  }
  cookbook::println("{:<38}{:9.2f} ms {:11} {}", name, shortest * 1e3, exchanged, unit);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 10'000'000, tasks = 2;
  cookbook::Options options("Compute one dot product in four programming models");
  options.add("numbers", size, "numbers in each of the two vectors", 1, 100'000'000);
  options.add("tasks", tasks, "threads or processes that share the work", 1, 64);
  options.parse(argc, argv);

  std::vector<Number> a(size), b(size);
  std::mt19937 random(1);
  std::generate(a.begin(), a.end(), std::ref(random));
  std::generate(b.begin(), b.end(), std::ref(random));
  const Sum expected = dot(a, b);

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, tasks);  // for the last row
  cookbook::println("{:<38}{:>12}   exchange by", fmt::format("{} products, {} tasks", size, tasks), "time");
  const std::size_t nothing = 0, one = 1;
  int wrong = 0;
  wrong += measure("one task, for comparison", nothing, "bytes", expected, [&] { return dot(a, b); });
  wrong += measure("shared memory, a lock for each product", size, "locks", expected,
                   [&] { return by_shared_memory(a, b, tasks); });
  wrong += measure("shared memory, a lock for each task", tasks, "locks", expected,
                   [&] { return by_shared_memory_once(a, b, tasks); });
  wrong += measure("futures, a result from each", tasks, "results", expected, [&] { return by_threads(a, b, tasks); });
  wrong += measure("messages to processes", bytes_moved, "bytes", expected, [&] { return by_messages(a, b, tasks); });
  // Last, since the library keeps its threads: fork copies only the thread that calls it.
  wrong += measure("data parallel", one, "call", expected, [&] { return by_data_parallel(a, b); });

  cookbook::Checks checks;
  checks.equal("runs with a wrong sum", wrong, 0);
  return checks.exit_code();
}
