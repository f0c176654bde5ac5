// Process pool that recovers from deaths
//
// What is lost when workers of a pool are killed? Four workers square the numbers from 0 to 99, and each of ten tasks
// kills one worker: with a queue the caller waits for ten results for ever, with a pool that knows which task each
// worker has it gets all.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool_recovery/process_pool_recovery.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_recovery
// Run:     process_pool_recovery [--processes N]

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "recovering_pool.hpp"
#include "shared_memory.hpp"

namespace {

constexpr int tasks = 100;
using Function = long (*)(long);
using Numbers = std::vector<long>;

/// The pool to compare with: its workers take their tasks from one queue, here a pipe, and a supervisor replaces one
/// that is killed. Returns the results that have come, in any order, when none has come for half a second.
Numbers map_by_queue(int processes, Function function, const Numbers& numbers) {
  int queue[2], results[2];
  check(pipe(queue), "pipe");
  check(pipe(results), "pipe");
  const auto work = [&] {
    for (long value; check(read(queue[0], &value, sizeof value), "read") == sizeof value;) {
      value = function(value);  // if the worker dies here, nobody else knows that it had this task
      check(write(results[1], &value, sizeof value), "write");
    }
  };
  const pid_t supervisor = cookbook::start_child([&] {
    close(queue[1]);
    for (int i = 0; i < processes; ++i) cookbook::start_child(work);
    for (int running = processes; running > 0;) {
      if (cookbook::exit_code_of(-1) == 0) {  // any worker
        --running;
      } else {
        cookbook::start_child(work);  // for one that was killed
      }
    }
  });

  check(write(queue[1], numbers.data(), numbers.size() * sizeof(long)), "write");  // they fit into a pipe
  Numbers arrived;
  const auto receive = [&](int timeout_ms) {
    pollfd news = {results[0], POLLIN, 0};
    while (arrived.size() < numbers.size() && check(poll(&news, 1, timeout_ms), "poll") == 1) {
      check(read(results[0], &arrived.emplace_back(), sizeof(long)), "read");
    }
  };
  receive(500);
  close(queue[1]);  // only now do the workers end
  cookbook::exit_code_of(supervisor);
  receive(0);  // from a worker that had to wait long for a processor
  for (const int end : {queue[0], results[0], results[1]}) close(end);
  return arrived;
}

Numbers map_by_recovering_pool(int processes, Function function, const Numbers& numbers) {
  RecoveringPool pool(processes, function);
  return pool.map(numbers);
}

struct Counts {
  std::atomic<int> begun[tasks] = {};  // how often each task was begun
};
Counts* counts = nullptr;  // in shared memory

long square(long x) {
  ++counts->begun[x];
  return x * x;
}

/// Tasks 7, 17, 27 and so on kill their worker when they are nearly done, the first time.
long square_or_die(long x) {
  const long result = square(x);
  if (x % 10 == 7 && counts->begun[x] == 1) raise(SIGKILL);
  return result;
}

long square_but_die_at_5(long x) {
  const long result = square(x);
  if (x == 5) raise(SIGKILL);
  return result;
}

struct Row {
  std::vector<int> begun;  // how often each task was begun
  Numbers results;         // that the caller has got
};

/// Does all tasks by this function in this way, and prints what comes of it.
template <typename Map>
Row print_row(const char* name, int processes, Map map, Function function) {
  const Shared<Counts> shared;
  counts = &*shared;  // before there are workers
  Numbers numbers(tasks);
  std::iota(numbers.begin(), numbers.end(), 0);
  Row row;
  std::string outcome;
  try {
    row.results = map(processes, function, numbers);
    outcome = fmt::format("{} results{}", row.results.size(), row.results.size() < tasks ? ", waits for more" : "");
  } catch (const std::runtime_error& error) {
    outcome = error.what();
  }
  row.begun.assign(counts->begun, counts->begun + tasks);
  cookbook::println("{:<42}{:8}   {}", name, std::accumulate(row.begun.begin(), row.begun.end(), 0), outcome);
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  cookbook::Options options("Lose no task when a worker of a pool dies");
  options.add("processes", processes, "workers", 1, 32);
  options.parse(argc, argv);

  cookbook::println("100 tasks                                 attempts   the caller gets");
  const Row queue = print_row("one queue: ten tasks kill a worker each", processes, map_by_queue, square_or_die);
  const Row ten =
      print_row("this pool: ten tasks kill a worker each", processes, map_by_recovering_pool, square_or_die);
  const Row given_up =
      print_row("this pool: task 5 kills each worker", processes, map_by_recovering_pool, square_but_die_at_5);

  Numbers squares(tasks);
  for (long i = 0; i < tasks; ++i) squares[i] = i * i;
  const auto sum = [](const Row& row) { return std::accumulate(row.begun.begin(), row.begun.end(), 0); };
  cookbook::Checks checks;
  checks.equal("results that the queue lost", tasks - static_cast<int>(queue.results.size()), 10);
  checks.that("this pool: all squares are right after ten deaths", ten.results == squares);
  checks.equal("attempts", std::vector{sum(queue), sum(ten), sum(given_up)},
               {tasks, tasks + 10, tasks - 1 + RecoveringPool::max_deaths});
  return checks.exit_code();
}
