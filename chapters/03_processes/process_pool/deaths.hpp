/// What happens to the tasks of workers that die.
#pragma once

#include <algorithm>
#include <csignal>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "lab.hpp"
#include "pool.hpp"

inline std::vector<long> numbers_up_to(long end) {
  std::vector<long> numbers(static_cast<std::size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

inline std::vector<long> squares_in_one_process(const std::vector<long>& numbers) {
  std::vector<long> squares;
  for (const long number : numbers) squares.push_back(square(number));
  return squares;
}

/// What a call throws, or "nothing".
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
  return "nothing";
}

/// How often the first tasks were begun beyond once each; forgets it.
inline int begun_again(long tasks) {
  int again = 0;
  for (long i = 0; i < tasks; ++i) again += std::max(lab->begun[i].exchange(0) - 1, 0);
  return again;
}

inline void lose_workers(ProcessPool& pool, cookbook::Checks& checks) {
  // Ten tasks of a hundred kill the worker that is at them.
  const std::vector<long> numbers = numbers_up_to(100);
  int replaced = pool.replaced();
  checks.that("10 workers died at a task: the same squares",
              pool.map(square_or_die, numbers) == squares_in_one_process(numbers));
  checks.equal("10 workers died at a task: replaced", pool.replaced() - replaced, 10);
  checks.equal("10 workers died at a task: tasks begun again", begun_again(100), 10);

  // Workers are killed from outside, wherever they are.
  const std::vector<long> more = numbers_up_to(1000);
  replaced = pool.replaced();
  auto squares = pool.map_async(square_slowly, more);
  int killed = 0;
  for (int i = 0; i < 10; ++i) {
    const int seen = lab->slow_ones;  // some progress between two kills: three at one task would give it up
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (lab->slow_ones < seen + 20 && lab->slow_ones < 1000 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    const std::vector<pid_t> workers = pool.workers();
    killed += kill(workers[static_cast<std::size_t>(i) % workers.size()], SIGKILL) == 0;
  }
  checks.that("workers killed from outside: the same squares", squares.get() == squares_in_one_process(more));
  checks.within("workers killed from outside: tasks begun again, at most one for each", begun_again(1000), 0, killed);

  // One task kills whoever is at it.
  const auto poison = [&] { pool.map(square_or_always_die, numbers_up_to(10), 1); };
  checks.equal("a task that kills every worker", error_of(poison), "task 5: its worker died, three times");
  checks.equal("a task that kills every worker: begun again", begun_again(10), Board::max_deaths - 1);
  checks.that("a task that kills every worker: the pool goes on",
              pool.map(square, numbers) == squares_in_one_process(numbers));
}

/// The supervisor is killed, and with it all workers.
inline void lose_the_supervisor(cookbook::Checks& checks) {
  lab->gate.clear();
  ProcessPool pool(2);
  const auto supervisor = pool.apply(
      +[](long) { return getppid(); }, 0);
  auto never = pool.map_async(square_at_the_gate, numbers_up_to(10));
  check(kill(supervisor, SIGKILL), "kill");
  checks.equal("a pool whose processes were all killed", error_of([&] { never.get(); }),
               "the processes of the pool have died");
  checks.equal("a pool whose processes were all killed, asked again", error_of([&] { pool.apply(square, 1); }),
               "the pool is closed");
}
