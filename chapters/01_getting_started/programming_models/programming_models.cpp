// Four programming models
//
// One dot product by shared memory, by futures, by messages between processes, and data parallel (models.hpp). Beside
// the time of each the program prints what its tasks have exchanged. All do the same multiplications, but two rows
// exchange so much that they are slower than one task that does all of the work.
//
// Compile: g++ -std=c++20 -O3 -Icommon chapters/01_getting_started/programming_models/programming_models.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o programming_models
// Run:     programming_models [--numbers N] [--tasks N]

#include <tbb/global_control.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "models.hpp"

namespace {

const std::string sent_bytes;  // in place of what is exchanged: print how many bytes were sent and received

/// Prints the shortest time of several runs, and what each exchanged. Returns how many did not give the expected sum.
template <typename Model>
int measure(std::string_view name, const std::string& exchanged, Sum expected, Model model) {
  double shortest = 1e9;
  int wrong = 0;
  const cookbook::Stopwatch all_runs;
  for (int i = 0; i < 3 || all_runs.seconds() < 0.1; ++i) {  // the first passes over the numbers take longer
    const cookbook::Stopwatch watch;
    wrong += model() != expected;
    shortest = std::min(shortest, watch.seconds());
  }
  cookbook::println("{:<38}{:9.2f} ms   {}", name, shortest * 1e3,
                    exchanged.empty() ? fmt::format("{} bytes", bytes_moved) : exchanged);
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
  cookbook::println("{:<38}{:>12}   exchanged", fmt::format("{} products, {} tasks", size, tasks), "time");
  const auto times = [](std::size_t count, std::string_view what) { return fmt::format("{} {}", count, what); };
  int wrong = 0;
  wrong += measure("one task, for comparison", "nothing", expected, [&] { return dot(a, b); });
  wrong += measure("shared memory, a lock for each product", times(size, "locks"), expected,
                   [&] { return by_shared_memory(a, b, tasks); });
  wrong += measure("shared memory, a lock for each task", times(tasks, "locks"), expected,
                   [&] { return by_shared_memory_once(a, b, tasks); });
  wrong += measure("futures, a result from each", times(tasks, "results"), expected,
                   [&] { return by_futures(a, b, tasks); });
  wrong +=
      measure("messages, the numbers and the sums", sent_bytes, expected, [&] { return by_messages(a, b, tasks); });
  wrong += measure("messages, only the sums", sent_bytes, expected, [&] { return by_messages_sums_only(a, b, tasks); });
  // Last, since the library keeps its threads: fork copies only the thread that calls it.
  wrong += measure("data parallel", "left to the library", expected, [&] { return by_data_parallel(a, b); });

  cookbook::Checks checks;
  checks.equal("runs with a wrong sum", wrong, 0);
  return checks.exit_code();
}
