/// What shuffle_by_hand prints. Of the exchange nothing is to be learnt here.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "shuffle.hpp"

/// The counts of each rank, on rank 0. Called by all ranks.
inline std::vector<Counts> on_rank_0(const mpi::Environment& world, const Counts& counts) {
  std::string packed;
  for (const auto& [word, count] : counts) pack(packed, word, count);
  std::vector<Counts> of;
  for (const std::string& text : world.gather(packed)) add_unpacked(of.emplace_back(), text);
  return of;
}

/// A word that has come to a rank.
struct Owned {
  std::string word;
  long count;
  int rank;
};

/// The words of all ranks, the most frequent ones first.
inline std::vector<Owned> sorted(const std::vector<Counts>& by_rank) {
  std::vector<Owned> list;
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    for (const auto& [word, count] : by_rank[r]) list.push_back({word, count, static_cast<int>(r)});
  }
  std::sort(list.begin(), list.end(),
            [](const Owned& a, const Owned& b) { return a.count != b.count ? a.count > b.count : a.word < b.word; });
  return list;
}

/// Prints the first `top` words of `list`, and what each rank had found of them.
inline void print_words(const std::vector<Owned>& list, const std::vector<Counts>& found_by, long top) {
  cookbook::println("word    found by each rank, and added up by the owner");
  for (long i = 0; i < std::min(top, static_cast<long>(list.size())); ++i) {
    std::vector<long> counts;
    for (const Counts& of : found_by) counts.push_back(of.contains(list[i].word) ? of.at(list[i].word) : 0);
    cookbook::println("{:7} {} = {} on rank {}", list[i].word, fmt::join(counts, " + "), list[i].count, list[i].rank);
  }
}

/// How much all ranks send together, as text. Called by all ranks.
inline std::string size_of_all(const Messages& messages, long pairs) {
  long bytes = 0;
  for (const std::string& message : messages) bytes += static_cast<long>(message.size());
  return fmt::format("{:9} pairs,{:9} bytes", mpi::sum_over_ranks(pairs), mpi::sum_over_ranks(bytes));
}

/// How much is sent, a column per text.
class SentTable {
 public:
  void add_column(const std::string& text, const std::string& each_word, const std::string& counted_first) {
    head_ += fmt::format("{:>31}", text);
    each_word_ += each_word;
    counted_first_ += counted_first;
  }
  void print() const { cookbook::println("{}\n{}\n{}", head_, each_word_, counted_first_); }

 private:
  std::string head_ = "sent                     ", each_word_ = "each word is sent        ",
              counted_first_ = "words are counted first  ";
};
