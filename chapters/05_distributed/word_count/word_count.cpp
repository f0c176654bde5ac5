// Word count with map and reduce
//
// How often does each word stand in a text? The text is cut into chunks. Map makes pairs (word, count) of a chunk; the
// engine, MapReduce-MPI, brings all pairs of a word to one rank; reduce adds them up. The output compares two forms of
// map, one that makes a pair of each word and one that counts equal words of its chunk first, for three texts of
// equally many words. What that saves depends on how often a word comes again. What does not fit into the engine's
// memory goes to files.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/word_count/word_count.cpp common/cookbook/*.cpp -lfmt -lMapReduceMPI -o word_count
// Run:     mpirun -n 4 word_count [--file TEXT] [--copies N] [--top N] [--page-mib N]

#include "cookbook/mpi.hpp"
// Behind it, since its macro must come before any <mpi.h>.
#include <mrmpi/keyvalue.h>
#include <mrmpi/mapreduce.h>

#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

#include "comparison.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "engine_pairs.hpp"
#include "temporary_directory.hpp"
#include "texts.hpp"
#include "words.hpp"

using MAPREDUCE_NS::KeyValue;
using MAPREDUCE_NS::MapReduce;

namespace {

/// Map: each word of one chunk, with the count 1.
void map_words(int chunk, KeyValue* pairs, void* text) {
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { emit(pairs, word, 1); });
}

/// Map: the words of one chunk, each with its count in this chunk.
void map_chunk(int chunk, KeyValue* pairs, void* text) {
  std::unordered_map<std::string, long> counts;
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { ++counts[std::string(word)]; });
  for (const auto& [word, count] : counts) emit(pairs, word, count);
}

/// Reduce: a word and all its counts become the word and their sum. Usually there is one block: `how_many` numbers at
/// `counts`. Counts that are too many for the memory come in several blocks; then `counts` is null, and `engine` has
/// them.
void add_up(char* word, int length, char* counts, int how_many, int* /*lengths of the counts*/, KeyValue* sums,
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

/// The job, with one of the two forms of map. Afterwards each word is a pair (word, count) on one of the ranks.
Counted count_words(MapReduce& engine, Text& text, void (*map)(int, KeyValue*, void*)) {
  const auto pairs = static_cast<long>(engine.map(text.chunks(), map, &text));
  engine.collate(nullptr);  // shuffle: all counts of a word come to one rank. nullptr: by the engine's own hash
  return {pairs, static_cast<long>(engine.reduce(add_up, &engine))};
}

/// All counts that the engine has, added up.
long words_in(MapReduce& engine) {
  long words = 0;
  engine.scan([](char*, int, char* count, int, void* sum) { *static_cast<long*>(sum) += count_in(count); }, &words);
  return mpi::sum_over_ranks(words);
}

/// The most frequent of the words that are shown to it.
struct MostFrequent {
  std::size_t top;                              ///< so many are kept
  std::set<std::pair<long, std::string>> kept;  ///< (-count, word): the highest count first, equal ones by the alphabet

  static void show(char* word, int length, char* count, int, void* list) {
    auto& [top, kept] = *static_cast<MostFrequent*>(list);
    kept.emplace(-count_in(count), std::string(word, static_cast<std::size_t>(length)));
    if (kept.size() > top) kept.erase(std::prev(kept.end()));
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  long top = 5;
  int copies = 10'000, page_mib = 16;
  cookbook::Options options("Count the words of a text with map and reduce");
  options.add("file", file,
              "text to count; without it, six sentences of a well-known statement, and two texts of numbers");
  options.add("copies", copies, "how often the six sentences are in the first text", 1, 1'000'000);
  options.add("top", top, "most frequent words to print", 0, 1'000'000'000);
  options.add("page-mib", page_mib,
              "size of a page of pairs, in MiB; a job has up to seven on a rank, more goes to files", 1, 4096);
  options.parse(argc, argv);

  const TemporaryDirectory folder;  // it starts a process, so it must come before MPI_Init
  const mpi::Environment world;
  std::optional<Text> text = open_text(world, file, copies);
  if (!text) return 2;

  MapReduce each_word(MPI_COMM_WORLD), per_chunk(MPI_COMM_WORLD);
  for (MapReduce* engine : {&each_word, &per_chunk}) {
    engine->memsize = page_mib;
    engine->set_fpath(folder.path().c_str());
  }
  bool same = true;
  const auto count_and_print_row = [&](const char* name, Text of) {  // called by all ranks
    const Both counted = compare(
        world, name, [&] { return count_words(each_word, of, map_words); },
        [&] { return count_words(per_chunk, of, map_chunk); });
    const long words = words_in(per_chunk);
    same = same && words == counted.each_word.pairs && counted.per_chunk.different == counted.each_word.different;
    return std::pair(words, counted.each_word);
  };

  print_head_of_table(world);
  const auto [words, first] = count_and_print_row(file.empty() ? "six sentences" : "the file", std::move(*text));
  per_chunk.gather(1);  // all pairs of the first text to one rank, rank 0
  MostFrequent list = {static_cast<std::size_t>(top), {}};
  const auto different = static_cast<long>(per_chunk.scan(MostFrequent::show, &list));
  if (file.empty()) {
    const auto stream_of = [](const std::string& all) { return std::make_unique<std::istringstream>(all); };
    count_and_print_row("as in a language", Text(stream_of(as_in_a_language(words)), world.size()));
    count_and_print_row("every word once", Text(stream_of(every_word_once(words)), world.size()));
  }

  cookbook::Checks checks;
  if (world.rank() == 0) {
    if (top > 0) cookbook::println("most frequent in the first text:");
    for (const auto& [negative, word] : list.kept) cookbook::println("{} {}", word, -negative);
    constexpr double mb = 1e6;
    if (MapReduce::wsize > 0) {
      cookbook::println("memory of the engine on rank 0: {:.0f} MB, written to files: {:.0f} MB",
                        static_cast<double>(MapReduce::msizemax) / mb, static_cast<double>(MapReduce::wsize) / mb);
    }
    checks.equal("words", words, first.pairs);
    checks.equal("different words", different, first.different);
    checks.that("both forms count the same in each text", same);
  }
  return world.exit_code(checks);
}
