/// What the ranks do together in a shuffle.
#pragma once

#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cookbook/mpi.hpp"

using Counts = std::unordered_map<std::string, long>;
using Messages = std::vector<std::string>;  ///< messages[r] is for rank r

/// The rank that gets all counts of a word. The hash is FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv), which is
/// the same in every process; std::hash need not be. Its last bits depend on the last bits of the letters only, so the
/// first half is folded in.
inline std::size_t owner(std::string_view word, std::size_t ranks) {
  std::size_t hash = 14695981039346656037U;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return (hash ^ (hash >> 32)) % ranks;
}

/// Appends a word and its count to a message, as text: "word count\n". No word has white space in it.
inline void pack(std::string& message, std::string_view word, long count) {
  message.append(word).append(" ").append(std::to_string(count)).append("\n");
}

/// Adds all counts of a message to `counts`.
inline void add_unpacked(Counts& counts, const std::string& message) {
  std::istringstream pairs(message);
  std::string word;
  for (long count; pairs >> word >> count;) counts[word] += count;
}

/// Throws std::length_error for a size that is too large for MPI, whose sizes and places are ints.
inline int size_for_mpi(std::size_t bytes) {
  if (bytes > std::numeric_limits<int>::max()) throw std::length_error("a rank cannot exchange 2 GiB or more");
  return static_cast<int>(bytes);
}

/// Sends messages[r] to rank r, and returns what all ranks have sent to this one. Called by all ranks.
inline std::string exchange(const Messages& messages) {
  const std::size_t ranks = messages.size();
  // The sent[r] bytes for rank r begin at sent_at[r], the received[r] bytes from rank r at received_at[r].
  std::vector<int> sent(ranks), sent_at(ranks), received(ranks), received_at(ranks);
  std::string all_sent;
  for (std::size_t r = 0; r < ranks; ++r) {
    sent_at[r] = size_for_mpi(all_sent.size());
    all_sent += messages[r];
    sent[r] = size_for_mpi(all_sent.size()) - sent_at[r];
  }
  MPI_CHECK(MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD));
  std::string all_received(size_for_mpi(std::accumulate(received.begin(), received.end(), 0UL)), '\0');
  std::exclusive_scan(received.begin(), received.end(), received_at.begin(), 0);
  MPI_CHECK(MPI_Alltoallv(all_sent.data(), sent.data(), sent_at.data(), MPI_CHAR, all_received.data(), received.data(),
                          received_at.data(), MPI_CHAR, MPI_COMM_WORLD));
  return all_received;
}
