// Word count with map and reduce
//
// How often does each word stand in a text? The text is cut into chunks. Map makes pairs (word, count) of a chunk; the
// shuffle brings all pairs of a word to one rank; reduce adds them up. Is it worth while to count equal words of a
// chunk before they are sent? The output shows how long each step takes, with a pair per word and with a pair per
// different word of a chunk, for three texts of equally many words, beside a plain loop on one rank. The engine that
// makes the steps is the library MapReduce-MPI; what does not fit into its memory goes to files.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/word_count/word_count.cpp common/cookbook/*.cpp -lfmt -lMapReduceMPI -o word_count
// Run:     mpirun -n 4 word_count [--file TEXT] [--copies N] [--top N] [--page-mib N]

#include "cookbook/mpi.hpp"
// Behind it, since its macro must come before any <mpi.h>.
#include <mrmpi/keyvalue.h>
#include <mrmpi/mapreduce.h>

#include <memory>
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

using Counts = std::unordered_map<std::string, long>;

/// Map: each word of one chunk, with the count 1.
void map_words(int chunk, KeyValue* pairs, void* text) {
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { emit(pairs, word, 1); });
}

/// Map and combine: each different word of one chunk, with its count in this chunk.
void map_chunk(int chunk, KeyValue* pairs, void* text) {
  Counts counts;
  for_each_word(static_cast<Text*>(text)->chunk(chunk), [&](auto word) { ++counts[std::string(word)]; });
  for (const auto& [word, count] : counts) emit(pairs, word, count);
}

/// Reduce: a word and all its counts become the word and their sum.
void add_up(char* word, int length, char* counts, int how_many, int*, KeyValue* sums, void* engine) {
  emit(sums, {word, static_cast<std::size_t>(length)}, sum_of(counts, how_many, engine));
}

/// The job, with one of the two forms of map. Afterwards each word is a pair (word, count) on one of the ranks.
Run count_words(MapReduce& engine, Text& text, void (*map)(int, KeyValue*, void*)) {
  Run run;
  const cookbook::Stopwatch watch;
  run.pairs = static_cast<long>(engine.map(text.chunks(), map, &text));
  run.map = watch.seconds();
  engine.collate(nullptr);  // shuffle: all counts of a word come to one rank. nullptr: by the engine's own hash
  run.shuffle = watch.seconds();
  run.different = static_cast<long>(engine.reduce(add_up, &engine));
  run.all = watch.seconds();
  return run;
}

/// The same without the engine, on one rank.
Counts by_loop(Text& text) {
  Counts counts;
  for (int i = 0; i < text.chunks(); ++i) {
    for_each_word(text.chunk(i), [&](auto word) { ++counts[std::string(word)]; });
  }
  return counts;
}

/// All pairs of the engine, on rank 0. Called by all ranks.
Counts on_rank_0(MapReduce& engine) {
  engine.gather(1);
  Counts counts;
  engine.scan(
      [](char* word, int length, char* count, int, void* to) {
        (*static_cast<Counts*>(to))[{word, static_cast<std::size_t>(length)}] = count_in(count);
      },
      &counts);
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  long top = 3;
  int copies = 10'000, page_mib = 16;
  cookbook::Options options("Count the words of a text with map and reduce");
  options.add("file", file,
              "text to count; without it, six sentences of a well-known statement, and two texts of numbers");
  options.add("copies", copies, "how often the six sentences are in the first text", 1, 1'000'000);
  options.add("top", top, "most frequent words of the first text to print", 0, 1'000'000'000);
  options.add("page-mib", page_mib,
              "size of a page of pairs, in MiB; a job has up to seven on a rank, more goes to files", 1, 4096);
  options.parse(argc, argv);

  const TemporaryDirectory folder;  // it starts a process, so it must come before MPI_Init
  const mpi::Environment world;
  std::optional<Text> text = open_text(world, file, copies);
  if (!text) return 2;

  MapReduce engine(MPI_COMM_WORLD);
  engine.memsize = page_mib;
  engine.set_fpath(folder.path().c_str());
  bool same = true;
  const auto count_and_print = [&](const char* name, Text of) {  // called by all ranks
    const Run each_word = fastest([&] { return count_words(engine, of, map_words); });
    const Counts by_words = on_rank_0(engine);
    const Run per_chunk = fastest([&] { return count_words(engine, of, map_chunk); });
    Counts by_chunks = on_rank_0(engine);
    Counts expected;
    const double loop = fastest_alone(world, [&] { expected = by_loop(of); });
    if (world.rank() == 0) {
      print_row(fmt::format("{},", name), "each word", each_word);
      print_row(fmt::format("{} different", each_word.different), "each different word", per_chunk);
      print_loop_row(loop);
      same = same && by_words == expected && by_chunks == expected;
    }
    return std::pair(each_word, std::move(by_chunks));
  };

  if (world.rank() == 0) print_head(world.size());
  const auto [first, counts] = count_and_print(file.empty() ? "six sentences" : "the file", std::move(*text));
  if (file.empty()) {
    const auto stream_of = [](const std::string& all) { return std::make_unique<std::istringstream>(all); };
    count_and_print("as in a language", Text(stream_of(as_in_a_language(first.pairs)), world.size()));
    count_and_print("every word once", Text(stream_of(every_word_once(first.pairs)), world.size()));
  }

  cookbook::Checks checks;
  if (world.rank() == 0) {
    const long words = print_most_frequent(counts, top);
    constexpr double mb = 1e6;
    if (MapReduce::wsize > 0) {
      cookbook::println("memory of the engine on rank 0: {:.0f} MB, written to files: {:.0f} MB",
                        static_cast<double>(MapReduce::msizemax) / mb, static_cast<double>(MapReduce::wsize) / mb);
    }
    checks.equal("words", words, first.pairs);
    checks.equal("different words", static_cast<long>(counts.size()), first.different);
    checks.that("both forms count as the loop does", same);
  }
  return world.exit_code(checks);
}
