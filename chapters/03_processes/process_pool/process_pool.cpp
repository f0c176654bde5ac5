// Process pool
//
// Which tasks gain from a pool of processes? Tasks of five lengths are done in a loop in this process and by a pool
// with one worker per core, which gets them one by one or in chunks of 100. A row shows what a task costs in each form,
// and how many times as fast as the loop that is. Below 1 the pool loses.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool/process_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool
// Run:     process_pool [--processes N] [--items N]

#include <algorithm>
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "pool.hpp"

namespace {

using Numbers = std::vector<long>;

// The tasks. A task is a plain function of a long, since its address is all that is sent of it.
long square(long x) { return x * x; }

/// So many steps of a random number generator, none of which can begin before the one before it has ended.
template <int steps>
long compute(long x) {
  auto state = static_cast<unsigned long>(x);
  for (int i = 0; i < steps; ++i) state = state * 6364136223846793005 + 1;
  return static_cast<long>(state);
}

long refuse(long x) { throw std::runtime_error(fmt::format("{} is refused", x)); }

Numbers loop(long (*task)(long), const Numbers& arguments) {
  Numbers results(arguments.size());
  std::transform(arguments.begin(), arguments.end(), results.begin(), task);
  return results;
}

/// One form of the work: what it gives, and the shortest time that it took.
struct Form {
  Numbers results;
  double us_per_task = 1e18;

  template <typename Work>
  void run(Work work) {
    const cookbook::Stopwatch watch;
    results = work();
    us_per_task = std::min(us_per_task, watch.seconds() * 1e6 / static_cast<double>(results.size()));
  }
};

/// Prints what a task costs in each form, and how many times as fast as the loop that is. Returns how often the pool
/// has other results than the loop.
int print_row(const char* name, ProcessPool& pool, long (*task)(long), const Numbers& numbers) {
  Form in_loop, one_by_one, in_chunks;
  for (int round = 0; round < 3; ++round) {  // in turn: a busy moment of the machine does not meet one form alone
    in_loop.run([&] { return loop(task, numbers); });
    one_by_one.run([&] { return pool.map(task, numbers, 1); });
    in_chunks.run([&] { return pool.map(task, numbers, 100); });
  }
  cookbook::println("{:<14}{:9.3f} us{:12.3f} us{:7.2f} x{:12.3f} us{:7.2f} x", name, in_loop.us_per_task,
                    one_by_one.us_per_task, in_loop.us_per_task / one_by_one.us_per_task, in_chunks.us_per_task,
                    in_loop.us_per_task / in_chunks.us_per_task);
  return (one_by_one.results != in_loop.results) + (in_chunks.results != in_loop.results);
}

/// What getting a result throws.
template <typename Get>
std::string error_of(Get get) {
  try {
    get();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

int main(int argc, char** argv) {
  int processes = std::min(cookbook::allowed_processors(), 64);
  long items = 1'600;
  cookbook::Options options("Hand tasks to a pool of processes");
  options.add("processes", processes, "workers", 1, 64);
  options.add("items", items, "tasks of each length", 1, 100'000);
  options.parse(argc, argv);

  ProcessPool pool(processes);
  Numbers numbers(items);
  std::iota(numbers.begin(), numbers.end(), 0);

  cookbook::println("{:<14}{:>12}{:>24}{:>24}", fmt::format("{} tasks", items), "in a loop", "one by one",
                    "in chunks of 100");
  int different = print_row("x * x", pool, square, numbers);
  different += print_row("100 steps", pool, compute<100>, numbers);
  different += print_row("1,000 steps", pool, compute<1'000>, numbers);
  different += print_row("10,000 steps", pool, compute<10'000>, numbers);
  different += print_row("100,000 steps", pool, compute<100'000>, numbers);

  const long one = pool.apply(square, 7);  // waits

  std::vector<long> called_back;  // needs no lock: a callback has ended before its future is ready
  std::future<long> later = pool.apply_async(square, 8, [&](long result) { called_back.push_back(result); });

  cookbook::Checks checks;
  checks.equal("results of map that differ from the loop's", different, 0);
  checks.equal("apply, apply_async and its callback", std::vector{one, later.get(), called_back.at(0)},
               {49L, 64L, 64L});
  checks.equal("the caller of a task that throws gets", error_of([&] { pool.apply(refuse, 7); }), "7 is refused");
  return checks.exit_code();
}
