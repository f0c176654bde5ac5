// What an atomic operation costs at each memory order, and what it costs when two cores want the same cache line.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/atomics/atomics_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o atomics_bench
// Run:     atomics_bench [--operations N] [--rounds N]

#include <atomic>
#include <mutex>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"

int main(int argc, char** argv) {
  long operations = 1'000'000;
  int rounds = 11;
  cookbook::Options options("Measure atomic operations at each memory order");
  options.add("operations", operations, "operations per measurement", 1000, 100'000'000);
  options.add("rounds", rounds, "rounds", 1, 1000);
  options.parse(argc, argv);

  using enum std::memory_order;
  const auto amount = static_cast<double>(operations);
  alignas(64) std::atomic<long> cell = 0;
  std::mutex mutex;
  int wrong = 0;  // rows that left a wrong value in the cell

  // One thread. The orders are written out: GCC takes an order that it does not know at compile time for seq_cst.
  std::vector<cookbook::Benchmark> alone;
  const auto row = [&](const char* name, long expected, auto operation) {
    const auto repeat = [&cell, operations, operation] {
      cell = 0;
      for (long i = 0; i < operations; ++i) operation(i);
    };
    repeat();
    if (cell != expected) ++wrong;
    alone.emplace_back(name, amount, repeat);
  };
  row("loop alone", 0, [](long i) { cookbook::do_not_optimize(i); });
  row("load relaxed", 0, [&](long) { cookbook::do_not_optimize(cell.load(relaxed)); });
  row("load acquire", 0, [&](long) { cookbook::do_not_optimize(cell.load(acquire)); });
  row("load seq_cst", 0, [&](long) { cookbook::do_not_optimize(cell.load(seq_cst)); });
  row("store relaxed", operations - 1, [&](long i) { cell.store(i, relaxed); });
  row("store release", operations - 1, [&](long i) { cell.store(i, release); });
  row("store seq_cst", operations - 1, [&](long i) { cell.store(i, seq_cst); });
  row("fetch_add relaxed", operations, [&](long) { cell.fetch_add(1, relaxed); });
  row("fetch_add acq_rel", operations, [&](long) { cell.fetch_add(1, acq_rel); });
  row("fetch_add seq_cst", operations, [&](long) { cell.fetch_add(1, seq_cst); });
  row("compare_exchange relaxed", operations, [&](long i) { cell.compare_exchange_strong(i, i + 1, relaxed); });
  row("compare_exchange acq_rel", operations, [&](long i) { cell.compare_exchange_strong(i, i + 1, acq_rel); });
  row("compare_exchange seq_cst", operations, [&](long i) { cell.compare_exchange_strong(i, i + 1, seq_cst); });
  row("load and store, std::mutex", operations, [&](long) {
    const std::scoped_lock lock(mutex);
    cell.store(cell.load(relaxed) + 1, relaxed);
  });

  // Several threads: the time is divided by the operations of all threads.
  std::vector<cookbook::Benchmark> together;
  for (const int threads : {1, 2}) {
    const auto add = [&cell, operations, threads] {
      cell = 0;
      return run_concurrently(threads, [&](int) {
        for (long i = 0; i < operations; ++i) cell.fetch_add(1, relaxed);
      });
    };
    add();
    if (cell != threads * operations) ++wrong;
    together.emplace_back(threads == 1 ? "fetch_add, 1 thread" : "fetch_add, 2 threads", threads * amount, add);
  }
  const long passes = operations / 10;
  const auto pass = [&cell, passes] {
    cell = 0;
    return run_concurrently(2, [&](int thread) {
      for (long i = thread; i < passes; i += 2) {
        spin_until([&] { return cell.load(acquire) == i; });
        cell.store(i + 1, release);
      }
    });
  };
  pass();
  if (cell != passes) ++wrong;
  together.emplace_back("one way between two processors", amount / 10, pass);

  cookbook::Checks checks;
  checks.equal("rows that left a wrong value", wrong, 0);

  cookbook::pin(0);
  cookbook::Figures one("One thread, one operation", cookbook::cost("ns", 1e-9));
  one.measure(alone, rounds);
  one.speedup_over("load and store, std::mutex", "mutex");
  one.print(checks);
  cookbook::Figures two("One cache line", cookbook::cost("ns", 1e-9));
  two.measure(together, rounds);
  two.speedup_over("fetch_add, 1 thread", "1 thread");
  two.print(checks);
  return checks.exit_code();
}
