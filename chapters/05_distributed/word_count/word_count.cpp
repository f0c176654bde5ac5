// Word count with map and reduce
//
// How often does each word stand in a text? The text is cut into chunks. Map makes pairs (word, count) of a chunk; the
// engine, MapReduce-MPI, brings all pairs of a word to one rank; reduce adds them up. The output compares two forms of
// map, one that makes a pair of each word and one that counts equal words of its chunk first. A second job, which gets
// the result of the first, sorts by count. What does not fit into the engine's memory goes to files.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/word_count/word_count.cpp common/cookbook/*.cpp -lfmt -lMapReduceMPI -o word_count
// Run:     mpirun -n 4 word_count [--file TEXT] [--copies N] [--top N] [--page-mib N]

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "count_by_engine.hpp"
#include "temporary_directory.hpp"
#include "words.hpp"

namespace {

/// What rank 0 reads from the sorted pairs.
struct List {
  long top;  ///< lines to print
  long words = 0, different = 0, in_order = 0, last_count = 0;
};

void read_pair(char* key, int length, char*, int, void* where) {
  List& list = *static_cast<List*>(where);
  const long count = count_in(key);
  if (list.different++ < list.top) cookbook::println("{} {}", word_in(key, length), count);
  list.in_order += list.different == 1 || count <= list.last_count;
  list.last_count = count;
  list.words += count;
}

/// Counts by one form of map, prints how many pairs it made and how long the job took, and returns what was counted.
Counted measured(const mpi::Environment& world, const char* form, MapReduce& engine, Text& text,
                 void (*map)(int, KeyValue*, void*)) {
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  const cookbook::Stopwatch watch;
  const Counted counted = count_words(engine, text, map);
  if (world.rank() == 0) cookbook::println("{:28}{:9} pairs{:9.0f} ms", form, counted.pairs, 1e3 * watch.seconds());
  return counted;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  long top = 3;
  int copies = 20'000, page_mib = 16;
  cookbook::Options options("Count the words of a text with map and reduce");
  options.add("file", file, "text to count; without it, six sentences of a well-known statement");
  options.add("copies", copies, "how often the six sentences are in the text", 1, 1'000'000);
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
  // All ranks make these calls. After sort_by_count only rank 0 has pairs, so only rank 0 prints some.
  const Counted naive = measured(world, "a pair per word", each_word, *text, map_words);
  measured(world, "a pair per word of a chunk", engine, *text, map_chunk);
  sort_by_count(engine, sorted);
  List list = {top};
  sorted.scan(read_pair, &list);

  cookbook::Checks checks;
  if (world.rank() == 0) {
    constexpr double mb = 1e6;
    cookbook::println("memory of the engine on rank 0: {:.0f} MB, written to files: {:.0f} MB",
                      static_cast<double>(MapReduce::msizemax) / mb, static_cast<double>(MapReduce::wsize) / mb);
    checks.equal("words", list.words, naive.pairs);
    checks.equal("different words", list.different, naive.different);
    checks.equal("words in the order of their counts", list.in_order, list.different);
  }
  return world.exit_code(checks);
}
