/// What a task costs in the pool, beside a hand-over without a pool.
#pragma once

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "lab.hpp"
#include "pool.hpp"
#include "shared_memory.hpp"
#include "side_by_side.hpp"

/// A number handed through a word of shared memory from one process to another and back, while both look without a
/// pause; the seconds of `turns` there and back.
inline double hand_over_and_back(long turns, int& failures) {
  const Shared<std::atomic<long>> turn(0);
  const auto follow = [&](long mine) {
    for (long i = 0; i < turns; ++i, mine += 2) {
      for (int looks = 1; *turn != mine; ++looks) {
        if (looks % 1000 == 0) std::this_thread::yield();
      }
      *turn = mine + 1;
    }
    return true;
  };
  return seconds_together([&] { return follow(1); }, [&] { return follow(0); }, failures);
}

inline void measure_tasks(ProcessPool& pool, long tasks, cookbook::Checks& checks) {
  const std::vector<long> numbers = numbers_up_to(tasks);
  const std::vector<long> expected = squares_in_one_process(numbers);
  long wrong = 0;
  int failures = 0;
  // Each row has its own number of tasks, so that all take about as long.
  const auto row = [](const char* name, long count, auto seconds) {
    return cookbook::Row(name, static_cast<double>(count), [=] { return seconds(count); });
  };
  const auto map = [&](std::size_t chunk) {
    return [&, chunk](long count) {
      const std::vector<long> some(numbers.begin(), numbers.begin() + count);
      const cookbook::Stopwatch watch;
      const std::vector<long> squares = pool.map(square, some, chunk);
      const double seconds = watch.seconds();
      wrong += !std::equal(squares.begin(), squares.end(), expected.begin());
      return seconds;
    };
  };
  const auto apply_async = [&](long count) {
    std::vector<std::future<long>> futures;
    const cookbook::Stopwatch watch;
    for (long i = 0; i < count; ++i) futures.push_back(pool.apply_async(square, i));
    for (long i = 0; i < count; ++i) wrong += futures[static_cast<std::size_t>(i)].get() != i * i;
    return watch.seconds();
  };
  const auto apply = [&](long count) {
    const cookbook::Stopwatch watch;
    for (long i = 0; i < count; ++i) wrong += pool.apply(square, i) != i * i;
    return watch.seconds();
  };
  const auto loop = [&](long count) {
    std::vector<long> squares(static_cast<std::size_t>(count));
    const cookbook::Stopwatch watch;
    for (std::size_t i = 0; i < squares.size(); ++i) {
      squares[i] = square(numbers[i]);
      cookbook::keep(squares[i]);
    }
    return watch.seconds();
  };

  constexpr int rounds = 5;
  cookbook::Figures alone("a task handed out alone", cookbook::cost("us", 1e-6));
  const char* hand_over = "a number through shared memory";
  alone.measure({row(hand_over, tasks, [&](long count) { return hand_over_and_back(count, failures) / 2; }),
                 row("map, chunks of one task", tasks / 4 + 1, map(1)),
                 row("apply_async, then get", tasks / 10 + 1, apply_async), row("apply", tasks / 40 + 1, apply)},
                rounds);
  alone.percent_of(hand_over, "hand-over");

  cookbook::Figures in_chunks("a task of many", cookbook::cost("ns", 1e-9));
  in_chunks.measure({row("a loop in one process", tasks, loop), row("map", tasks, map(0))}, rounds);
  in_chunks.percent_of("a loop in one process", "loop");

  checks.equal("measured: wrong results", wrong + failures, 0L);
  alone.print(checks);
  in_chunks.print(checks);
}
