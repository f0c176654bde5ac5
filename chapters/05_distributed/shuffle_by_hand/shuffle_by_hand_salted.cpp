// Pitfall: a hash that differs from process to process
//
// Python puts a secret number, a salt, into the hash of every text, unless told otherwise; it differs from process to
// process. So may Abseil's hash for C++. (This protects against an attacker who sends many texts with the same hash.)
// If such a hash says who owns a word, two ranks may compute different owners, and each of these has a part of the
// word's count.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/shuffle_by_hand/shuffle_by_hand_salted.cpp common/cookbook/*.cpp -lfmt -o shuffle_by_hand_salted
// Run:     mpirun -n 4 shuffle_by_hand_salted
// Symptom: exit 1, prints "counts, expected 100"

#include "shuffle.hpp"

int main() {
  const mpi::Environment world;
  // Python's salt is random; on four ranks this one is sure to lead to different owners.
  const std::size_t ranks = world.size(), salt = 1000 + world.rank();
  Messages messages(ranks);
  for (int i = 0; i < 100; ++i) {  // each rank has found each of the words "0" to "99" once
    const std::string word = std::to_string(i);
    const std::size_t to = owner(word + std::to_string(salt), ranks);  // wrong: every rank has a salt of its own
    pack(messages[to], word, 1);
  }
  Counts owned;
  add_unpacked(owned, exchange(messages));

  const long words = mpi::sum_over_ranks(static_cast<long>(owned.size()));
  if (world.rank() == 0 && words > 100) cookbook::println("the 100 words have {} counts, expected 100", words);
  if (world.rank() == 0 && words == 100) cookbook::println("each of the 100 words has its count on one rank");
  return words > 100 ? 1 : 0;
}
