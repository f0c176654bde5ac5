/// Pairs (word, count) of MapReduce-MPI, for which a word and a count are blocks of bytes.
#pragma once

#include "cookbook/mpi.hpp"
// Behind it, since its macro must come before any <mpi.h>.
#include <mrmpi/keyvalue.h>
#include <mrmpi/mapreduce.h>

#include <cstring>
#include <string_view>

/// Adds a pair.
inline void emit(MAPREDUCE_NS::KeyValue* pairs, std::string_view word, long count) {
  pairs->add(const_cast<char*>(word.data()), static_cast<int>(word.size()), reinterpret_cast<char*>(&count),
             sizeof count);
}

/// The count in the bytes that the engine stores.
inline long count_in(const char* bytes) {
  long count;
  std::memcpy(&count, bytes, sizeof count);
  return count;
}

/// In a reduce function: the sum of all counts of its word. Usually there is one block, `how_many` numbers at `counts`.
/// Counts that are too many for the memory come in several blocks; then `counts` is null, and `engine` has them.
inline long sum_of(char* counts, int how_many, void* engine) {
  auto* const block_source = counts ? nullptr : static_cast<MAPREDUCE_NS::MapReduce*>(engine);
  int blocks = 1;
  int* lengths = nullptr;  // of the counts; the call below wants it, though all are as long as a long
  if (block_source) block_source->multivalue_blocks(blocks);
  long sum = 0;
  for (int block = 0; block < blocks; ++block) {
    if (block_source) how_many = block_source->multivalue_block(block, &counts, &lengths);
    for (int i = 0; i < how_many; ++i) sum += count_in(counts + i * sizeof(long));
  }
  return sum;
}
