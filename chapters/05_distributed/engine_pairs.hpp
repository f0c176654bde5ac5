/// Pairs (word, count) of MapReduce-MPI, for which a word and a count are blocks of bytes.
#pragma once

#include "cookbook/mpi.hpp"
// Behind it, since its macro must come before any <mpi.h>.
#include <mrmpi/keyvalue.h>

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
