// A shuffle by hand, measured
//
// Counts a text of random words by several ways, and compares all counts with those of coreutils, word by word.
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon -Ichapters/05_distributed chapters/05_distributed/shuffle_by_hand/shuffle_by_hand_bench.cpp common/cookbook/*.cpp -lfmt -lMapReduceMPI -o shuffle_by_hand_bench
// Run:     mpirun -n 4 shuffle_by_hand_bench [--mb N] [--different N] [--rounds N]

#include "cookbook/mpi.hpp"
// After it, since it says which form of MPI's header is wanted.
#include <mrmpi/keyvalue.h>
#include <mrmpi/mapreduce.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "engine_pairs.hpp"
#include "shuffle.hpp"
#include "temporary_directory.hpp"
#include "word_table.hpp"
#include "words.hpp"

namespace {

using MAPREDUCE_NS::KeyValue;
using MAPREDUCE_NS::MapReduce;
using Sorted = std::map<std::string, long>;

/// Random words; as in natural languages, the n-th most frequent one comes about 1 / n times as often as the first.
void write_text(const std::string& path, long bytes, int different) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int> length(1, 11), letter('a', 'z');
  std::vector<std::string> words(different);
  for (std::string& word : words) {
    for (int left = length(random); left > 0; --left) word += static_cast<char>(letter(random));
  }
  std::uniform_real_distribution<double> exponent(0, std::log(different));
  std::ofstream file(path);
  for (long written = 0, line = 0; written < bytes;) {
    const std::string& word = words[static_cast<std::size_t>(std::exp(exponent(random))) - 1];
    const bool new_line = (line += static_cast<long>(word.size())) > 70;
    if (new_line) line = 0;
    file << word << (new_line ? ",\n" : " ");
    written += static_cast<long>(word.size()) + 1 + new_line;
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

Sorted counts_of_coreutils(const std::string& text, const std::string& list) {
  const std::string command = "export LC_ALL=C; tr -s '[:space:]' '\\n' <" + text +
                              " | tr -d '[:punct:]' | tr '[:upper:]' '[:lower:]' | sort | uniq -c >" + list;
  if (std::system(command.c_str()) != 0) throw std::runtime_error("the commands of coreutils have failed");
  Sorted counts;
  std::ifstream file(list);
  std::string word;
  for (long count; file >> count >> word;) counts[word] = count;
  return counts;
}

// The engine's two forms, as in the recipe word_count.

void map_words(int chunk, KeyValue* pairs, void* text) {
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { emit(pairs, word, 1); });
}

void map_chunk(int chunk, KeyValue* pairs, void* text) {
  Counts counts;
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { ++counts[std::string(word)]; });
  for (const auto& [word, count] : counts) emit(pairs, word, count);
}

void add_up(char* word, int length, char* counts, int how_many, int*, KeyValue* sums, void*) {
  long sum = 0;
  for (int i = 0; i < how_many; ++i) sum += count_in(counts + i * sizeof sum);
  emit(sums, {word, static_cast<std::size_t>(length)}, sum);
}

/// The lesson's table.
class PlainTable {
 public:
  void add(std::string_view word) { ++counts_[std::string(word)]; }
  template <typename Use>
  void for_each(Use use) const {
    for (const auto& [word, count] : counts_) use(word, count);
  }

 private:
  Counts counts_;
};

/// What this rank finds, in a table of either type.
template <typename Table>
Table count_here(const mpi::Environment& world, Text& text) {
  Table here;
  for (int i = world.rank(); i < text.chunks(); i += world.size()) {
    for_each_word(text.chunk(i), [&](auto word) { here.add(word); });
  }
  return here;
}

/// The three steps of the lesson.
template <typename Table>
Counts count_by_hand(const mpi::Environment& world, Text& text) {
  const auto here = count_here<Table>(world, text);
  Messages messages(world.size());
  here.for_each([&](auto word, long count) { pack(messages[owner(word, messages.size())], word, count); });
  Counts owned;
  add_unpacked(owned, exchange(messages));
  return owned;
}

Sorted gathered(const mpi::Environment& world, const Counts& owned) {
  Messages messages(world.size());
  for (const auto& [word, count] : owned) pack(messages[0], word, count);
  Counts all;
  add_unpacked(all, exchange(messages));
  return {all.begin(), all.end()};
}

}  // namespace

int main(int argc, char** argv) {
  int mb = 32, different = 50'000, rounds = 5;
  cookbook::Options options("Measure several ways to count words");
  options.add("mb", mb, "size of the text in MB", 1, 1'000);
  options.add("different", different, "different words", 1'000, 10'000'000);
  options.add("rounds", rounds, "times that each row is measured", 1, 1000);
  options.parse(argc, argv);

  const TemporaryDirectory folder;
  const mpi::Environment world;
  cookbook::pin(world.rank());
  // One text for all: in the folder of rank 0.
  char path[4096] = {};
  folder.path().copy(path, sizeof path - 1);
  MPI_CHECK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
  const std::string file = std::string(path) + "/text", list = std::string(path) + "/list";
  if (world.rank() == 0) write_text(file, mb * 1'000'000L, different);
  world.sleeping_barrier();
  std::optional<Text> text = open_text(world, file, 1);
  if (!text) return 3;
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));

  WordTable by_thread;
  Sorted by_coreutils, by_hand, by_fast_hand, by_engine, by_plain_engine;
  long pairs = 0, counted = 0;         // in the tables of all ranks, before the exchange
  const auto alone = [&](auto work) {  // on rank 0, while the others sleep
    return [&, work] {
      world.sleeping_barrier();
      const cookbook::Stopwatch watch;
      if (world.rank() == 0) work();
      const double seconds = watch.seconds();
      world.sleeping_barrier();
      return seconds;
    };
  };
  const auto together = [&](auto work, auto keep_result) {
    return [&, work, keep_result] {
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      const cookbook::Stopwatch watch;
      const auto result = work();
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      const double seconds = watch.seconds();
      keep_result(*result);
      return seconds;
    };
  };
  const auto hand_row = [&]<typename Table>(Table, Sorted& counts) {
    return together([&] { return std::make_unique<Counts>(count_by_hand<Table>(world, *text)); },
                    [&](const Counts& owned) { counts = gathered(world, owned); });
  };
  const auto engine_row = [&](auto map, Sorted& counts) {
    return together(
        [&, map] {
          auto engine = std::make_unique<MapReduce>(MPI_COMM_WORLD);
          engine->memsize = 64 + mb;  // large enough for all counts of one word
          engine->set_fpath(folder.path().c_str());
          engine->map(text->chunks(), map, &*text);
          engine->collate(nullptr);
          engine->reduce(add_up, nullptr);
          return engine;
        },
        [&](MapReduce& engine) {
          engine.gather(1);
          engine.scan(
              [](char* word, int length, char* count, int, void* to) {
                (*static_cast<Sorted*>(to))[{word, static_cast<std::size_t>(length)}] = count_in(count);
              },
              &(counts = {}));
        });
  };
  const std::vector<cookbook::Benchmark> rows = {
      {"reading and splitting, all ranks", bytes,
       together(
           [&] {
             auto words = std::make_unique<long>(0);
             for (int i = world.rank(); i < text->chunks(); i += world.size()) {
               for_each_word(text->chunk(i), [&](auto) { ++*words; });
             }
             return words;
           },
           [](long words) { cookbook::do_not_optimize(words); })},
      {"one thread, fast table", bytes, alone([&] {
         by_thread = {};
         for (int i = 0; i < text->chunks(); ++i) {
           for_each_word(text->chunk(i), [&](auto word) { by_thread.add(word); });
         }
       })},
      {"tr, sort, uniq of coreutils", bytes, alone([&] {
         cookbook::unpin();  // sort has threads of its own
         by_coreutils = counts_of_coreutils(file, list);
         cookbook::pin(0);
       })},
      {"engine, a pair per word", bytes, engine_row(map_words, by_plain_engine)},
      {"engine, a pair per word of a chunk", bytes, engine_row(map_chunk, by_engine)},
      {"by hand, std::unordered_map", bytes, hand_row(PlainTable(), by_hand)},
      {"by hand, fast table", bytes, hand_row(WordTable(), by_fast_hand)},
      {"by hand, fast table, no exchange", bytes,
       together([&] { return std::make_unique<WordTable>(count_here<WordTable>(world, *text)); },
                [&](const WordTable& here) {
                  pairs = counted = 0;
                  here.for_each([&](auto, long count) { ++pairs, counted += count; });
                  pairs = mpi::sum_over_ranks(pairs), counted = mpi::sum_over_ranks(counted);
                })},
  };
  cookbook::Figures figures(fmt::format("Text counted, {} ranks", world.size()), cookbook::rate("MB/s", 1e6));
  figures.percent_of("reading and splitting, all ranks", "reading");
  figures.speedup_over("engine, a pair per word", "plain");
  figures.measure(rows, rounds);

  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.that("words have been counted", !by_coreutils.empty());
    Sorted counted_by_thread;
    by_thread.for_each([&](auto word, long count) { counted_by_thread[std::string(word)] = count; });
    checks.that("one thread: the counts of coreutils", counted_by_thread == by_coreutils);
    checks.that("engine, a pair per word: the same", by_plain_engine == by_coreutils);
    checks.that("engine, a pair per word of a chunk: the same", by_engine == by_coreutils);
    checks.that("by hand, std::unordered_map: the same", by_hand == by_coreutils);
    checks.that("by hand, fast table: the same", by_fast_hand == by_coreutils);
    long expected = 0;
    for (const auto& [word, count] : by_coreutils) expected += count;
    checks.equal("without the exchange: words", counted, expected);
    cookbook::println("pairs that the ranks exchange: {}, different words: {}", pairs, by_coreutils.size());
    figures.print(checks);
  }
  return world.exit_code(checks);
}
