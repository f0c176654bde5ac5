/// What a task costs in the pool, beside a hand-over without a pool.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/verdict.hpp"
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

inline void measure_tasks(ProcessPool& pool, long tasks, cookbook::Verdict& verdict) {
  struct Row {
    std::string name;
    long tasks;
    std::function<double(long tasks)> seconds;
    std::vector<double> all = {};
  };
  const std::vector<long> numbers = numbers_up_to(tasks);
  const std::vector<long> expected = squares_in_one_process(numbers);
  const auto first = [&](long count) { return std::vector<long>(numbers.begin(), numbers.begin() + count); };
  long wrong = 0;
  int failures = 0;
  const auto map = [&](long count, std::size_t chunk) {
    const std::vector<long> some = first(count);
    const cookbook::Stopwatch watch;
    const std::vector<long> squares = pool.map(square, some, chunk);
    const double seconds = watch.seconds();
    wrong += !std::equal(squares.begin(), squares.end(), expected.begin());
    return seconds;
  };
  std::vector<Row> alone = {
      {"a number through shared memory", tasks, [&](long count) { return hand_over_and_back(count, failures) / 2; }},
      {"map, chunks of one task", tasks / 4 + 1, [&](long count) { return map(count, 1); }},
      {"apply_async, then get", tasks / 10 + 1,
       [&](long count) {
         std::vector<std::future<long>> futures;
         const cookbook::Stopwatch watch;
         for (long i = 0; i < count; ++i) futures.push_back(pool.apply_async(square, i));
         for (long i = 0; i < count; ++i) wrong += futures[static_cast<std::size_t>(i)].get() != i * i;
         return watch.seconds();
       }},
      {"apply", tasks / 40 + 1, [&](long count) {
         const cookbook::Stopwatch watch;
         for (long i = 0; i < count; ++i) wrong += pool.apply(square, i) != i * i;
         return watch.seconds();
       }}};
  std::vector<Row> in_chunks = {{"a loop in one process", tasks,
                                 [&](long count) {
                                   std::vector<long> squares(static_cast<std::size_t>(count));
                                   const cookbook::Stopwatch watch;
                                   for (std::size_t i = 0; i < squares.size(); ++i) {
                                     squares[i] = square(numbers[i]);
                                     cookbook::keep(squares[i]);
                                   }
                                   return watch.seconds();
                                 }},
                                {"map", tasks, [&](long count) { return map(count, 0); }}};
  for (int round = 0; round < 6; ++round) {
    for (std::vector<Row>* rows : {&alone, &in_chunks}) {
      for (Row& row : *rows) {
        const double seconds = row.seconds(row.tasks);
        if (round > 0) row.all.push_back(seconds);  // the first round warms up
      }
    }
  }
  verdict.equal("measured: wrong results", wrong + failures, 0L);
  const auto print = [&](cookbook::Figures figures, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const auto add = &row == &rows[0] ? &cookbook::Figures::add_limit : &cookbook::Figures::add;
      (figures.*add)(row.name, cookbook::timing_of(row.all), static_cast<double>(row.tasks));
    }
    figures.print(verdict);
  };
  print(cookbook::Figures("a task handed out alone", cookbook::cost("us", 1e-6)), alone);
  print(cookbook::Figures("a task of many", cookbook::cost("ns", 1e-9)), in_chunks);
}
