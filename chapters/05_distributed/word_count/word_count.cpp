// Word count with map and reduce
//
// How often does each word stand in a text? The text is cut into chunks. Map makes pairs (word, count) of a chunk; the
// engine, MapReduce-MPI, brings all pairs of a word to one rank; reduce adds them up. The output compares two forms of
// map, one that makes a pair of each word and one that counts equal words of its chunk first, for three texts of
// equally many words. What that saves depends on how often a word comes again. A second job, which gets the result of
// the first, sorts by count. What does not fit into the engine's memory goes to files.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/word_count/word_count.cpp common/cookbook/*.cpp -lfmt -lMapReduceMPI -o word_count
// Run:     mpirun -n 4 word_count [--file TEXT] [--copies N] [--top N] [--page-mib N]

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "count_by_engine.hpp"
#include "temporary_directory.hpp"
#include "texts.hpp"
#include "words.hpp"

namespace {

/// What rank 0 reads from the sorted pairs.
struct List {
  long top;  ///< lines to print
  long words = 0, different = 0;
};

void read_pair(char* key, int length, char*, int, void* where) {
  List& list = *static_cast<List*>(where);
  const long count = count_in(key);
  if (list.different++ < list.top) cookbook::println("{} {}", word_in(key, length), count);
  list.words += count;
}

/// How long the job takes by one form of map, in ms: the shorter time of two runs.
double measured(MapReduce& engine, Text& text, void (*map)(int, KeyValue*, void*), Counted& counted) {
  double shorter = 1e18;
  for (int run = 0; run < 2; ++run) {
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const cookbook::Stopwatch watch;
    counted = count_words(engine, text, map);
    shorter = std::min(shorter, 1e3 * watch.seconds());
  }
  return shorter;
}

/// All counts that the engine has, added up.
long words_in(MapReduce& engine) {
  long words = 0;
  engine.scan([](char*, int, char* count, int, void* sum) { *static_cast<long*>(sum) += count_in(count); }, &words);
  return mpi::sum_over_ranks(words);
}

/// Counts a text by both forms, and prints a row. Returns what the first form has counted; afterwards `engine` has the
/// words as the second has. `differ` becomes true if that is not the same.
Counted compared(const mpi::Environment& world, const char* name, Text text, MapReduce& each_word, MapReduce& engine,
                 bool& differ) {
  Counted naive, combined;
  const double each_ms = measured(each_word, text, map_words, naive);
  const double combined_ms = measured(engine, text, map_chunk, combined);
  differ = differ || naive.different != combined.different || words_in(engine) != naive.pairs;
  if (world.rank() == 0) {
    cookbook::println("{:17}{:10}{:12}{:6.0f} ms{:14}{:6.0f} ms{:8.1f} x", name, naive.different, naive.pairs, each_ms,
                      combined.pairs, combined_ms, each_ms / combined_ms);
  }
  return naive;
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
  options.add("top", top, "most frequent words to print", 0, 1'000'000'000);
  options.add("page-mib", page_mib,
              "size of a page of pairs, in MiB; a job has up to seven on a rank, more goes to files", 1, 4096);
  options.parse(argc, argv);

  // Before MPI_Init, since it starts a process, which removes the folder after a kill.
  const TemporaryDirectory folder;
  const mpi::Environment world;
  std::optional<Text> text = open_text(world, file, copies);
  if (!text) return 2;

  MapReduce each_word(MPI_COMM_WORLD), engine(MPI_COMM_WORLD), sorted(MPI_COMM_SELF);
  for (MapReduce* of_job : {&each_word, &engine, &sorted}) {
    of_job->memsize = page_mib;
    of_job->set_fpath(folder.path().c_str());
  }
  if (world.rank() == 0) {
    cookbook::println("{} ranks                            a pair per word       counted per chunk first",
                      world.size());
    cookbook::println("text              different       pairs     time         pairs     time    gain");
  }
  // All ranks make these calls. After sort_by_count only rank 0 has pairs, so only rank 0 prints some.
  bool differ = false;
  const auto row = [&](const char* name, Text of) {
    return compared(world, name, std::move(of), each_word, engine, differ);
  };
  const Counted naive = row(file.empty() ? "six sentences" : "the file", std::move(*text));
  sort_by_count(engine, sorted);
  if (file.empty()) {
    row("as in a language", Text(std::make_unique<std::istringstream>(as_in_a_language(naive.pairs)), world.size()));
    row("every word once", Text(std::make_unique<std::istringstream>(every_word_once(naive.pairs)), world.size()));
  }
  if (world.rank() == 0 && top > 0) cookbook::println("most frequent in the first text:");
  List list = {top};
  sorted.scan(read_pair, &list);

  cookbook::Checks checks;
  if (world.rank() == 0) {
    constexpr double mb = 1e6;
    if (MapReduce::wsize > 0) {
      cookbook::println("memory of the engine on rank 0: {:.0f} MB, written to files: {:.0f} MB",
                        static_cast<double>(MapReduce::msizemax) / mb, static_cast<double>(MapReduce::wsize) / mb);
    }
    checks.equal("words", list.words, naive.pairs);
    checks.equal("different words", list.different, naive.different);
    checks.that("both forms count the same in each text", !differ);
  }
  return world.exit_code(checks);
}
