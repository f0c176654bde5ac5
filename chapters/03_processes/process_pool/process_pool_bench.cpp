// Process pool, measured
//
// What a task costs that is handed to a worker alone, beside a number that is handed from one process to another
// through shared memory; and what a task of many costs, beside a loop in one process.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/03_processes chapters/03_processes/process_pool/process_pool_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_bench
// Run:     process_pool_bench [--tasks N] [--processes N] [--rounds N]

#include <atomic>
#include <csignal>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "pool.hpp"
#include "shared_memory.hpp"

namespace {

long square(long x) { return x * x; }

/// A word of shared memory that this process and a child write in turn, each on a processor of its own, without
/// sleeping. Made before the pool, because the pool has a thread.
class HandOver {
 public:
  HandOver()
      : child_(cookbook::start_child([this] {
          cookbook::pin(1);
          for (;;) {
            board_->begin.wait();
            const long end = board_->end;
            for (long turn = 1; turn < end; turn += 2) {
              wait_for(turn);
              board_->turn = turn + 1;
            }
          }
        })) {}
  ~HandOver() {
    check(kill(child_, SIGKILL), "kill");
    cookbook::exit_code_of(child_);
  }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  /// So many hand-overs, half of them there and half of them back; the seconds that they took.
  double pass(long times) const {
    cookbook::pin(0);
    board_->turn = 0;
    board_->end = times;
    board_->begin.post();
    const cookbook::Stopwatch watch;
    for (long turn = 0; turn < times; turn += 2) {
      board_->turn = turn + 1;
      wait_for(turn + 2);
    }
    const double seconds = watch.seconds();
    cookbook::unpin();
    return seconds;
  }

 private:
  struct Board {
    boost::interprocess::interprocess_semaphore begin{0};
    std::atomic<long> turn = 0;
    long end = 0;
  };

  void wait_for(long turn) const {
    for (int looks = 1; board_->turn != turn; ++looks) {
      if (looks % 1000 == 0) std::this_thread::yield();
    }
  }

  const Shared<Board> board_;
  pid_t child_;
};

}  // namespace

int main(int argc, char** argv) {
  long tasks = 20'000;
  int processes = 4, rounds = 7;
  cookbook::Options options("What a task costs in a pool of processes");
  options.add("tasks", tasks, "tasks of each measured run; a tenth as many where they go one by one", 100, 10'000'000);
  options.add("processes", processes, "workers", 1, 64);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);

  const HandOver hand_over;
  ProcessPool pool(processes);
  std::vector<long> numbers(tasks), squares(tasks);
  std::iota(numbers.begin(), numbers.end(), 0);
  long wrong = 0;

  const long few = tasks / 10 / 2 * 2;  // even: a hand-over goes there and back
  const std::vector<long> some(numbers.begin(), numbers.begin() + few);
  const auto compare = [&](const std::vector<long>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) wrong += results[i] != square(static_cast<long>(i));
  };
  // The results are compared when the clock has stopped.
  const auto map = [&](const std::vector<long>& arguments, std::size_t chunk) {
    const cookbook::Stopwatch watch;
    const std::vector<long> results = pool.map(square, arguments, chunk);
    const double seconds = watch.seconds();
    compare(results);
    return seconds;
  };

  cookbook::Figures alone("a task handed out alone", cookbook::cost("us", 1e-6));
  alone.measure({{"a number through shared memory", static_cast<double>(few), [&] { return hand_over.pass(few); }},
                 {"map, chunks of one task", static_cast<double>(few), [&] { return map(some, 1); }},
                 {"apply_async, then get", static_cast<double>(few),
                  [&] {
                    std::vector<std::future<long>> futures;
                    for (long i = 0; i < few; ++i) futures.push_back(pool.apply_async(square, i));
                    for (long i = 0; i < few; ++i) wrong += futures[i].get() != i * i;
                  }},
                 {"apply", static_cast<double>(few),
                  [&] {
                    for (long i = 0; i < few; ++i) wrong += pool.apply(square, i) != i * i;
                  }}},
                rounds);
  alone.percent_of("a number through shared memory", "hand-over");

  cookbook::Figures many("a task of many", cookbook::cost("ns", 1e-9));
  many.measure({{"a loop in one process", static_cast<double>(tasks),
                 [&] {
                   for (long i = 0; i < tasks; ++i) {
                     squares[i] = square(numbers[i]);
                     cookbook::do_not_optimize(squares[i]);
                   }
                 }},
                {"map", static_cast<double>(tasks), [&] { return map(numbers, 0); }}},
               rounds);
  many.percent_of("a loop in one process", "loop");
  compare(squares);

  cookbook::Checks checks;
  checks.equal("wrong results", wrong, 0L);
  alone.print(checks);
  many.print(checks);
  return checks.exit_code();
}
