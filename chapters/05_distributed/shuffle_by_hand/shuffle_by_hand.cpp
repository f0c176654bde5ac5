// A shuffle by hand
//
// Each rank finds words in its part of a text. How do all counts of a word come to one rank? A hash of the word says
// which rank owns it. In one exchange each rank sends every rank the counts of the words that the receiver owns
// (shuffle), and then adds up what it has received (reduce). The output shows both for the most frequent words, and how
// much is sent if each word is sent with the count 1, or if each rank counts its own words first (combine), for a short
// text and for the same text many times.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/shuffle_by_hand/shuffle_by_hand.cpp common/cookbook/*.cpp -lfmt -o shuffle_by_hand
// Run:     mpirun -n 4 shuffle_by_hand [--file TEXT] [--copies N] [--top N]

#include <set>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "shuffle.hpp"
#include "shuffle_output.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  long top = 5;
  int copies = 20'000;
  cookbook::Options options("Bring the counts of each word together, by one exchange between the ranks");
  options.add("file", file, "text to count; without it, six sentences of a well-known statement");
  options.add("copies", copies, "how often the six sentences are in the second text", 1, 1'000'000);
  options.add("top", top, "most frequent words to print", 0, 1'000'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  std::optional<Text> text = open_text(world, file, 1);
  if (!text) return 2;

  const Outgoing each = each_word(world, *text), counted = counted_first(world, *text);
  const Counts by_each = shuffled(each.messages), owned = shuffled(counted.messages);

  Counts found;  // by this rank, before the exchange
  for (const std::string& message : counted.messages) add_unpacked(found, message);
  const std::vector<Counts> found_by = on_rank_0(world, found);
  const std::vector<Owned> list = sorted(on_rank_0(world, owned));
  if (world.rank() == 0) print_words(list, found_by, top);

  SentTable table;
  const auto add_column = [&](const std::string& name, const Outgoing& by_word, const Outgoing& by_count) {
    table.add_column(name, size_of_all(by_word.messages, by_word.pairs),
                     size_of_all(by_count.messages, by_count.pairs));
  };
  add_column(file.empty() ? "six sentences" : "the file", each, counted);
  if (file.empty()) {
    Text same = *open_text(world, "", copies);
    add_column(fmt::format("the same {} times", copies), each_word(world, same), counted_first(world, same));
  }
  if (world.rank() == 0) table.print();

  const long differences = mpi::sum_over_ranks(owned != by_each);
  cookbook::Checks checks;
  if (world.rank() == 0) {
    long counts = 0, words = 0;
    std::set<std::string> different;
    for (const Owned& one : list) counts += one.count;
    for (int i = 0; i < text->chunks(); ++i) {
      for_each_word(text->chunk(i), [&](auto word) { ++words, different.emplace(word); });
    }
    checks.equal("words", counts, words);
    checks.equal("different words, each on one rank", list.size(), different.size());
    checks.equal("ranks where the two forms differ", differences, 0);
  }
  return world.exit_code(checks);
}
