// A shuffle by hand
//
// What an engine for map and reduce does inside, in its simplest form. A hash of each word says which rank owns it. In
// one exchange each rank sends to each other one the counts of the words that this one owns (shuffle), and adds up what
// it gets (reduce). The output compares two forms: each word is sent with the count 1, or each rank counts its own
// words first (combine). What is sent has to fit into memory.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/shuffle_by_hand/shuffle_by_hand.cpp common/cookbook/*.cpp -lfmt -o shuffle_by_hand
// Run:     mpirun -n 4 shuffle_by_hand [--file TEXT] [--copies N] [--top N]

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "shuffle.hpp"
#include "words.hpp"

namespace {

/// What a rank sends to each rank, and how many pairs that is.
struct Outgoing {
  Messages messages;
  long pairs = 0;

  void add(std::string_view word, long count) {
    pack(messages[owner(word, messages.size())], word, count);
    ++pairs;
  }
};

/// Calls use(word) for each word of this rank's chunks.
template <typename Use>
void for_each_word_here(const mpi::Environment& world, Text& text, Use use) {
  for (int i = world.rank(); i < text.chunks(); i += world.size()) for_each_word(text.chunk(i), use);
}

/// Each word is sent by itself.
Outgoing each_word(const mpi::Environment& world, Text& text) {
  Outgoing out = {Messages(world.size())};
  for_each_word_here(world, text, [&](auto word) { out.add(word, 1); });
  return out;
}

/// Combine: this rank's words are counted first, so that each is sent once.
Outgoing counted_first(const mpi::Environment& world, Text& text) {
  Counts counts;
  for_each_word_here(world, text, [&](auto word) { ++counts[std::string(word)]; });
  Outgoing out = {Messages(world.size())};
  for (const auto& [word, count] : counts) out.add(word, count);
  return out;
}

/// Shuffle and reduce: the counts that come are added up.
Counts shuffled(const Messages& messages) {
  Counts sums;
  add_unpacked(sums, exchange(messages));
  return sums;
}

/// Does all three steps with one of the two forms, and prints what it costs. Returns the words that this rank owns.
template <typename Form>
Counts measured(const mpi::Environment& world, const char* name, Text& text, Form form) {
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  const cookbook::Stopwatch watch;
  const Outgoing out = form(world, text);
  const Counts owned = shuffled(out.messages);
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  const double seconds = watch.seconds();
  long bytes = 0;
  for (const std::string& message : out.messages) bytes += static_cast<long>(message.size());
  const long pairs = mpi::sum_over_ranks(out.pairs), all_bytes = mpi::sum_over_ranks(bytes);
  if (world.rank() == 0) {
    cookbook::println("{:28}{:10}{:12} bytes{:10.0f} ms", name, pairs, all_bytes, 1e3 * seconds);
  }
  return owned;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  long top = 3;
  int copies = 20'000;
  cookbook::Options options("Bring the counts of each word together, by one exchange between the ranks");
  options.add("file", file, "text to count; without it, six sentences of a well-known statement");
  options.add("copies", copies, "how often the six sentences are in the text", 1, 1'000'000);
  options.add("top", top, "most frequent words to print", 0, 1'000'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  std::optional<Text> text = open_text(world, file, copies);
  if (!text) return 2;

  if (world.rank() == 0) cookbook::println("{} ranks{:>30}{:>18}{:>13}", world.size(), "pairs", "sent", "time");
  const Counts by_each = measured(world, "each word is sent", *text, each_word);
  const Counts owned = measured(world, "words are counted first", *text, counted_first);

  Messages to_show(world.size());  // a second shuffle brings all words to rank 0
  for (const auto& [word, count] : owned) pack(to_show[0], word, count);
  const Counts all = shuffled(to_show);
  const long here = static_cast<long>(owned.size());
  std::vector<long> words_owned(world.size());
  MPI_CHECK(MPI_Gather(&here, 1, MPI_LONG, words_owned.data(), 1, MPI_LONG, 0, MPI_COMM_WORLD));
  const long differences = mpi::sum_over_ranks(owned != by_each);
  cookbook::Checks checks;
  if (world.rank() == 0) {
    cookbook::println("words owned per rank: {}", words_owned);
    std::vector<std::pair<std::string, long>> list(all.begin(), all.end());
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    for (long i = 0; i < std::min(top, static_cast<long>(list.size())); ++i) {
      cookbook::println("{} {}", list[i].first, list[i].second);
    }
    long counted = 0, words = 0;
    for (const auto& [word, count] : list) counted += count;
    for (int i = 0; i < text->chunks(); ++i) for_each_word(text->chunk(i), [&](auto) { ++words; });
    checks.equal("words", counted, words);
    checks.equal("different words, added up over the ranks",
                 std::accumulate(words_owned.begin(), words_owned.end(), 0L), static_cast<long>(all.size()));
    checks.equal("ranks where the two forms differ", differences, 0);
  }
  return world.exit_code(checks);
}
