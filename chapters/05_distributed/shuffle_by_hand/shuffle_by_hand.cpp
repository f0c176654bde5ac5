// A shuffle by hand
//
// What an engine for map and reduce does inside, in its simplest form. Each rank counts the words of its chunks in a
// table of its own (combine). A hash of each word says which rank owns it. In one exchange, each rank sends to each
// other one the counts of the words that this one owns (shuffle), and adds up what it gets (reduce). All different
// words have to fit into memory.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/shuffle_by_hand/shuffle_by_hand.cpp common/cookbook/*.cpp -lfmt -o shuffle_by_hand
// Run:     mpirun -n 4 shuffle_by_hand [--file TEXT] [--top N]

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "shuffle.hpp"
#include "words.hpp"

namespace {

/// Map and combine: the words of this rank's chunks, with their counts.
Counts count_here(const mpi::Environment& world, Text& text) {
  Counts counts;
  for (int i = world.rank(); i < text.chunks(); i += world.size()) {
    for_each_word(text.chunk(i), [&](auto word) { ++counts[std::string(word)]; });
  }
  return counts;
}

/// Shuffle and reduce: every count goes to the rank `to(word)`, and the counts that come are added up there.
template <typename To>
Counts shuffled(const mpi::Environment& world, const Counts& counts, To to) {
  Messages messages(world.size());
  for (const auto& [word, count] : counts) pack(messages[to(word)], word, count);
  Counts sums;
  add_unpacked(sums, exchange(messages));
  return sums;
}

long sum_over_ranks(long number) {
  long sum = 0;
  MPI_CHECK(MPI_Allreduce(&number, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  long top = 6;
  cookbook::Options options("Bring the counts of each word together, by one exchange between the ranks");
  options.add("file", file, "text to count; without it, six sentences of a well-known statement");
  options.add("top", top, "most frequent words to print", 0, 1'000'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  std::optional<Text> text = open_text(world, file);
  if (!text) return 2;

  const Counts here = count_here(world, *text);
  const Counts owned = shuffled(world, here, [&](const auto& word) { return owner(word, world.size()); });
  const Counts all = shuffled(world, owned, [](const auto&) { return 0; });  // to show them: all words to rank 0

  const long pairs = sum_over_ranks(static_cast<long>(here.size()));
  const long words_owned = sum_over_ranks(static_cast<long>(owned.size()));
  cookbook::Checks checks;
  if (world.rank() == 0) {
    std::vector<std::pair<std::string, long>> list(all.begin(), all.end());
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    for (long i = 0; i < std::min(top, static_cast<long>(list.size())); ++i) {
      cookbook::println("{} {}", list[i].first, list[i].second);
    }
    cookbook::println("pairs that were sent: {}", pairs);
    long counted = 0, words = 0;
    for (const auto& [word, count] : list) counted += count;
    for (int i = 0; i < text->chunks(); ++i) for_each_word(text->chunk(i), [&](auto) { ++words; });
    checks.equal("words", counted, words);
    checks.equal("different words, added up over the ranks", words_owned, static_cast<long>(all.size()));
  }
  return world.exit_code(checks);
}
