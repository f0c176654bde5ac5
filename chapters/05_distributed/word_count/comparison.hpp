/// The table of word_count: where each form of the job spends its time.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"

/// One run of the job. A step ends when all ranks have done it, since each call of the engine waits for all of them.
struct Run {
  long pairs = 0;                        ///< made by map, on all ranks
  long different = 0;                    ///< words
  double map = 0, shuffle = 0, all = 0;  ///< when the step was done, in seconds from the beginning
};

/// The fastest of three runs. Called by all ranks.
template <typename Job>
Run fastest(Job job) {
  Run best{.all = 1e18};
  for (int i = 0; i < 3; ++i) {
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const Run run = job();
    if (run.all < best.all) best = run;
  }
  return best;
}

/// The time that rank 0 takes alone, in seconds, while the others sleep; the shortest of three. Called by all ranks.
template <typename Work>
double fastest_alone(const mpi::Environment& world, Work work) {
  double best = 1e18;
  for (int i = 0; i < 3; ++i) {
    world.sleeping_barrier();
    const cookbook::Stopwatch watch;
    if (world.rank() == 0) work();
    best = std::min(best, watch.seconds());
    world.sleeping_barrier();
  }
  return best;
}

inline void print_head(int ranks) {
  cookbook::println("{:20}map makes a pair of      pairs      map  shuffle   reduce      all",
                    fmt::format("{} ranks", ranks));
}

inline void print_row(const std::string& text, const char* pair_of, const Run& run) {
  cookbook::println("{:20}{:20}{:10}{:6.0f} ms{:6.0f} ms{:6.0f} ms{:6.0f} ms", text, pair_of, run.pairs, 1e3 * run.map,
                    1e3 * (run.shuffle - run.map), 1e3 * (run.all - run.shuffle), 1e3 * run.all);
}

inline void print_loop_row(double seconds) {
  cookbook::println("{:20}{:57}{:6.0f} ms", "", "(no map: a loop on one rank)", 1e3 * seconds);
}

/// The most frequent words, equally frequent ones by the alphabet. Returns how many words there are, all counts
/// together.
inline long print_most_frequent(const std::unordered_map<std::string, long>& counts, long top) {
  std::vector<std::pair<long, std::string>> list;
  long words = 0;
  for (const auto& [word, count] : counts) {
    list.emplace_back(-count, word);
    words += count;
  }
  std::sort(list.begin(), list.end());
  list.resize(std::min(list.size(), static_cast<std::size_t>(top)));
  for (const auto& [negative, word] : list) cookbook::println("{} {}", word, -negative);
  return words;
}
