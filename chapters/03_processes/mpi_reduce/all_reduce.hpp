/// All-reduce by messages, round a ring, and how long it takes beside MPI_Allreduce.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "collective.hpp"
#include "cookbook/figures.hpp"
#include "mpi_session.hpp"

namespace all_reduce {

constexpr int tag = 1;

using Numbers = std::vector<double>;

/// Adds up the arrays of all ranks, element by element, and leaves the sum in `total` on all of them. The array is cut
/// into as many pieces as there are ranks. In the first half of the steps each piece goes round the ring, and every
/// rank adds its own numbers to it; in the second half the finished pieces go round. Returns how many numbers this rank
/// sent.
inline long ring(const Numbers& mine, Numbers& total, int rank, int ranks) {
  const std::size_t parts = static_cast<std::size_t>(ranks);
  const int right = (rank + 1) % ranks, left = (rank - 1 + ranks) % ranks;
  const auto start = [&](int piece) { return mine.size() * static_cast<std::size_t>(piece) / parts; };
  const auto length = [&](int piece) { return static_cast<int>(start(piece + 1) - start(piece)); };
  Numbers arrived(mine.size() / parts + 1);
  long sent = 0;
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const bool adding = step < ranks - 1;
    const int out = (rank - step + 2 * ranks) % ranks, in = (out - 1 + ranks) % ranks;
    const double* from = (step == 0 ? mine : total).data() + start(out);
    double* to = adding ? arrived.data() : total.data() + start(in);
    CHECK_MPI(MPI_Sendrecv(from, length(out), MPI_DOUBLE, right, tag, to, length(in), MPI_DOUBLE, left, tag,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    sent += length(out);
    for (std::size_t i = start(in); adding && i < start(in + 1); ++i) total[i] = mine[i] + arrived[i - start(in)];
  }
  if (ranks == 1) total = mine;
  return sent;
}

/// The numbers of `rank`: whole, and small enough that sums of them are exact in any order.
inline Numbers numbers_of(int rank, std::size_t length) {
  const auto random = collective::random_numbers(length, static_cast<unsigned>(rank + 1));
  Numbers numbers(length);
  std::transform(random.begin(), random.end(), numbers.begin(), [](std::uint64_t number) { return number >> 34; });
  return numbers;
}

/// From 8 B a rank up: the library's, a reduction and a broadcast, and the ring.
inline void check_and_measure(std::size_t up_to, const mpi::Session& session, cookbook::Checks& checks) {
  cookbook::Figures times("an all-reduce and a barrier", cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  const int rank = session.rank(), ranks = session.ranks();
  bool all_right = true;
  long sent = 0, length_of_all = 0;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const Numbers mine = numbers_of(rank, size.bytes / 8);
    Numbers expected(mine.size()), total(mine.size());
    for (int i = 0; i < ranks; ++i) {
      const Numbers other = numbers_of(i, mine.size());
      std::transform(expected.begin(), expected.end(), other.begin(), expected.begin(), std::plus<>());
    }
    const int length = static_cast<int>(mine.size());
    const auto library = [&] {
      CHECK_MPI(MPI_Allreduce(mine.data(), total.data(), length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    };
    const auto reduce_and_broadcast = [&] {
      CHECK_MPI(MPI_Reduce(mine.data(), total.data(), length, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
      CHECK_MPI(MPI_Bcast(total.data(), length, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    };
    const std::vector<collective::Form> forms = {
        {"MPI_Allreduce", library},
        {"reduce, broadcast", reduce_and_broadcast},
        {"ring", [&] { ring(mine, total, rank, ranks); }},
    };
    const auto prepare = [&] { std::fill(total.begin(), total.end(), -1.0); };
    all_right = collective::compare(times, forms, size, prepare, [&] { return total == expected; }) && all_right;
    sent += collective::sum(ring(mine, total, rank, ranks));
    length_of_all += length;
  }
  if (rank != 0) return;
  checks.that("every size, all three ways: every rank has the sum", all_right);
  checks.equal("how often the ring sends a number", static_cast<double>(sent) / static_cast<double>(length_of_all),
               2.0 * (ranks - 1));
  times.print(checks);
}

}  // namespace all_reduce
