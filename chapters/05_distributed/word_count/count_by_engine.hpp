/// Counting words by two jobs of MapReduce-MPI.
#pragma once

#include "cookbook/mpi.hpp"
// Behind it, since its macro must come before any <mpi.h>.
#include <mrmpi/keyvalue.h>
#include <mrmpi/mapreduce.h>

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "words.hpp"

using MAPREDUCE_NS::KeyValue;
using MAPREDUCE_NS::MapReduce;

inline void emit(KeyValue* pairs, std::string_view word, long count) {
  pairs->add(const_cast<char*>(word.data()), static_cast<int>(word.size()), reinterpret_cast<char*>(&count),
             sizeof count);
}

/// The count in the bytes that the engine stores.
inline long count_in(const char* bytes) {
  long count;
  std::memcpy(&count, bytes, sizeof count);
  return count;
}

/// Map: each word of one chunk, with the count 1.
inline void map_words(int chunk, KeyValue* pairs, void* text) {
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { emit(pairs, word, 1); });
}

/// Map: the words of one chunk, each with its count in this chunk.
inline void map_chunk(int chunk, KeyValue* pairs, void* text) {
  std::unordered_map<std::string, long> counts;
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { ++counts[std::string(word)]; });
  for (const auto& [word, count] : counts) emit(pairs, word, count);
}

/// Reduce: a word and all its counts become the word and their sum. Usually there is one block: `how_many` numbers at
/// `counts`. Counts that are too many for the memory come in several blocks; then `counts` is null, and `engine` has
/// them.
inline void add_up(char* word, int length, char* counts, int how_many, int* /*lengths of the counts*/, KeyValue* sums,
                   void* engine) {
  auto* const block_source = counts ? nullptr : static_cast<MapReduce*>(engine);
  int blocks = 1;
  int* lengths = nullptr;  // of the counts; the call below wants it, though all are as long as a long
  if (block_source) block_source->multivalue_blocks(blocks);
  long sum = 0;
  for (int block = 0; block < blocks; ++block) {
    if (block_source) how_many = block_source->multivalue_block(block, &counts, &lengths);
    for (int i = 0; i < how_many; ++i) sum += count_in(counts + i * sizeof(long));
  }
  emit(sums, {word, static_cast<std::size_t>(length)}, sum);
}

struct Counted {
  long pairs;      ///< made by map, on all ranks
  long different;  ///< words
};

/// The first job, with one of the two forms of map. Afterwards each word is a pair (word, count) on one of the ranks.
inline Counted count_words(MapReduce& engine, Text& text, void (*map)(int, KeyValue*, void*)) {
  const auto pairs = static_cast<long>(engine.map(text.chunks(), map, &text));
  engine.collate(nullptr);  // shuffle: all counts of a word come to one rank. nullptr: by the engine's own hash
  return {pairs, static_cast<long>(engine.reduce(add_up, &engine))};
}

/// Map of the second job: the count and the word become the key. There is no value.
inline void add_as_key(char* word, int length, char* count, int, void* pairs) {
  std::string key(count, sizeof(long));
  key.append(word, static_cast<std::size_t>(length));
  static_cast<KeyValue*>(pairs)->add(key.data(), static_cast<int>(key.size()), nullptr, 0);
}

inline std::string_view word_in(const char* key, int length) {
  return {key + sizeof(long), static_cast<std::size_t>(length) - sizeof(long)};
}

/// The order of these keys: the highest count first, and words of equal count in alphabetical order.
inline int compare(char* a, int a_length, char* b, int b_length) {
  if (count_in(a) != count_in(b)) return count_in(a) > count_in(b) ? -1 : 1;
  return word_in(a, a_length).compare(word_in(b, b_length));
}

/// The second job, on the result of the first: all words come to rank 0, in the order of their counts. `sorted` is an
/// engine of one rank alone (MPI_COMM_SELF): sort_keys on ranks with different numbers of pages may hang.
inline void sort_by_count(MapReduce& engine, MapReduce& sorted) {
  engine.gather(1);                    // all pairs to one rank, rank 0
  sorted.open();                       // pairs may be added until close()
  engine.scan(add_as_key, sorted.kv);  // calls add_as_key for each pair; kv: the pairs that `sorted` holds
  sorted.close();
  sorted.sort_keys(compare);
}
