// A stack without a lock beside a vector with one: the time of a pop and a push, by the number of threads. Each thread
// takes a node out, puts it back and does ten multiplications.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/lock_free_stack/lock_free_stack_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o lock_free_stack_bench
// Run:     lock_free_stack_bench [--pairs N] [--rounds N]

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"
#include "treiber_stack.hpp"

namespace {

/// The simple stack: a vector that a mutex guards.
class LockedStack {
 public:
  explicit LockedStack(std::size_t nodes) { nodes_.reserve(nodes); }

  void push(Node node) {
    const std::scoped_lock hold(mutex_);
    nodes_.push_back(node);
  }

  std::optional<Node> pop() {
    const std::scoped_lock hold(mutex_);
    if (nodes_.empty()) return std::nullopt;
    const Node node = nodes_.back();
    nodes_.pop_back();
    return node;
  }

 private:
  std::mutex mutex_;
  std::vector<Node> nodes_;
};

/// Each thread pops a node and pushes it again, `pairs` times. Returns the seconds, and counts the uses of the nodes.
template <typename Stack>
double run_pairs(int threads, long pairs, long& counted) {
  struct alignas(64) Count {
    long uses = 0;
  };
  std::vector<Count> counts(static_cast<std::size_t>(threads));
  Stack stack(counts.size());
  for (Node node = 0; node < counts.size(); ++node) stack.push(node);
  const double seconds = run_concurrently(threads, [&](int number) {
    auto value = static_cast<unsigned long>(number);
    for (long i = 0; i < pairs; ++i) {
      const Node node = stack.pop().value();
      ++counts[node].uses;
      stack.push(node);
      for (int step = 0; step < 10; ++step) value = value * 6364136223846793005 + 1442695040888963407;
    }
    cookbook::do_not_optimize(value);
  });
  counted = 0;
  for (const Count& count : counts) counted += count.uses;
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  long pairs = 100'000;
  int rounds = 9;
  cookbook::Options options("Measure a stack without a lock beside one with a lock");
  options.add("pairs", pairs, "pops and pushes per thread", 1000, 10'000'000);
  options.add("rounds", rounds, "rounds", 1, 1000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  std::vector<cookbook::Figures> tables;
  long lost = 0;
  for (const int threads : {1, 2, 4}) {
    const auto row = [&](const std::string& name, auto run) {
      return cookbook::Benchmark(name, static_cast<double>(threads) * static_cast<double>(pairs), [=, &lost] {
        long counted = 0;
        const double seconds = run(threads, pairs, counted);
        lost += threads * pairs - counted;
        return seconds;
      });
    };
    tables.emplace_back(fmt::format("A pop and a push, threads: {}", threads), cookbook::cost("ns", 1e-9));
    tables.back().measure({row("counted head", run_pairs<TreiberStack<Head::counted>>),
                           row("std::mutex, std::vector", run_pairs<LockedStack>)},
                          rounds);
    tables.back().speedup_over("std::mutex, std::vector", "mutex");
  }
  checks.equal("uses of nodes that were lost", lost, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
