/// The table of word_count: two forms of one job, side by side.
#pragma once

#include <algorithm>

#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"

struct Counted {
  long pairs;      ///< made by map, on all ranks
  long different;  ///< words
};

struct Both {
  Counted each_word, per_chunk;
};

inline void print_head_of_table(const mpi::Environment& world) {
  if (world.rank() > 0) return;
  cookbook::println("{} ranks                            a pair per word       counted per chunk first", world.size());
  cookbook::println("text              different       pairs     time         pairs     time    gain");
}

/// Runs both forms three times, by turns, and prints a row with the shortest time of each. Called by all ranks.
template <typename EachWord, typename PerChunk>
Both compare(const mpi::Environment& world, const char* name, EachWord each_word, PerChunk per_chunk) {
  double each_ms = 1e18, chunk_ms = 1e18;
  Both counted;
  const auto timed = [](double& shortest, auto run) {
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const cookbook::Stopwatch watch;
    const Counted result = run();
    shortest = std::min(shortest, 1e3 * watch.seconds());
    return result;
  };
  for (int run = 0; run < 3; ++run) {
    counted.each_word = timed(each_ms, each_word);
    counted.per_chunk = timed(chunk_ms, per_chunk);
  }
  if (world.rank() == 0) {
    cookbook::println("{:17}{:10}{:12}{:6.0f} ms{:14}{:6.0f} ms{:8.1f} x", name, counted.each_word.different,
                      counted.each_word.pairs, each_ms, counted.per_chunk.pairs, chunk_ms, each_ms / chunk_ms);
  }
  return counted;
}
