/// What the recipes of collective communication share: agreement of the ranks, and timing from 8 B to 16 MiB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/mpi.hpp"

namespace collective {

/// `count` random numbers, the same for the same `seed`: what is sent when speed is measured.
inline std::vector<std::uint64_t> random_numbers(std::size_t count, unsigned seed) {
  std::vector<std::uint64_t> numbers(count);
  std::generate(numbers.begin(), numbers.end(), std::mt19937_64(seed));
  return numbers;
}

/// One way to do the job that is timed: `run` does it once, and is called by all ranks.
struct Form {
  std::string_view name;
  std::function<void()> run;
};

/// One size at which forms are compared. Large ones are run less often, so that a recipe ends within seconds.
struct Size {
  std::size_t bytes;
  std::string_view name;
  int calls;   ///< made in a row, as one measured run
  int rounds;  ///< in which each form has one measured run
};
constexpr Size sizes[] = {
    {8, "8 B", 20, 7},        {1 << 10, "1 KiB", 20, 7},  {64 << 10, "64 KiB", 10, 7},
    {1 << 20, "1 MiB", 2, 5}, {16 << 20, "16 MiB", 1, 3},
};

inline std::vector<Size> sizes_up_to(std::size_t largest) {
  std::vector<Size> chosen;
  std::copy_if(std::begin(sizes), std::end(sizes), std::back_inserter(chosen),
               [&](const Size& size) { return size.bytes <= largest; });
  return chosen;
}

/// A row for cookbook::run_interleaved(): `size.calls` calls of `work`, each followed by a barrier. So none begins
/// before all ranks have ended the one before, and the time is that until the last rank is done. `amount` is that of
/// one call. All ranks measure the same rows; rank 0's timing counts.
inline cookbook::Benchmark row(std::string_view name, double amount, const Size& size, std::function<void()> work) {
  return {std::string(name), amount * size.calls, [calls = size.calls, work = std::move(work)] {
            for (int call = 0; call < calls; ++call) {
              work();
              MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
            }
          }};
}

/// Adds the row that all others contain: the barrier alone.
inline void add_barrier(cookbook::Figures& times) {
  times.measure({row("MPI_Barrier alone", 1, sizes[0], [] {})}, sizes[0].rounds);
}

/// Runs each form once: before it `prepare` spoils the results of the one before, after it `right` says whether this
/// rank has what it should have. Returns whether all have. Called by all ranks.
inline bool all_right(const std::vector<Form>& forms, const std::function<void()>& prepare,
                      const std::function<bool()>& right) {
  bool all = true;
  for (const Form& form : forms) {
    prepare();
    form.run();
    all = mpi::all_ranks(right()) && all;
  }
  return all;
}

/// Checks all forms at one size as all_right() does, and then times them, a row of `times` each. Called by all ranks.
inline bool compare(cookbook::Figures& times, const std::vector<Form>& forms, const Size& size,
                    const std::function<void()>& prepare, const std::function<bool()>& right) {
  const bool all = all_right(forms, prepare, right);
  std::vector<cookbook::Benchmark> rows;
  for (const Form& form : forms) rows.push_back(row(fmt::format("{:>6}, {}", size.name, form.name), 1, size, form.run));
  times.measure(rows, size.rounds);
  return all;
}

}  // namespace collective
