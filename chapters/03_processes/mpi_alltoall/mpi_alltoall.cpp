// All-to-all
//
// Every rank has a piece for every other: rank i sends (i + 1) * j to rank j. Written with a row for each rank, what is
// received is the transpose of what is sent. MPI_Alltoall does it in one call; beside it stands the same by messages,
// in pairs and all at once. MPI_Alltoallv exchanges pieces of different lengths. Then a large matrix, whose rows are
// spread over the ranks, is transposed. The pitfall, mpi_alltoall_same_buffer.cpp, sends and receives in the same
// buffer.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_alltoall/mpi_alltoall.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall
// Run:     mpirun -n 5 mpi_alltoall [--block N] [--rows N] [--up-to N]

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"
#include "transpose.hpp"

namespace {

using Values = std::vector<std::int64_t>;
constexpr int tag = 1;

/// `sent` has a piece for each rank, in their order, all of one length; so has `received`, from each rank.
void by_library(const Values& sent, Values& received, int ranks) {
  const int count = static_cast<int>(sent.size()) / ranks;
  CHECK_MPI(MPI_Alltoall(sent.data(), count, MPI_INT64_T, received.data(), count, MPI_INT64_T, MPI_COMM_WORLD));
}

/// In each step, every rank sends to one rank and receives from one: first from its neighbours, then from those two
/// places away, and so on. Returns how many messages this rank has sent.
int in_pairs(const Values& sent, Values& received, int rank, int ranks) {
  const int count = static_cast<int>(sent.size()) / ranks;
  std::copy_n(sent.data() + rank * count, count, received.data() + rank * count);
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks;
    CHECK_MPI(MPI_Sendrecv(sent.data() + to * count, count, MPI_INT64_T, to, tag, received.data() + from * count, count,
                           MPI_INT64_T, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return ranks - 1;
}

/// Every rank begins all its receives and sends, then waits for all of them.
void all_at_once(const Values& sent, Values& received, int rank, int ranks) {
  const int count = static_cast<int>(sent.size()) / ranks;
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(ranks - 1), MPI_REQUEST_NULL);
  auto request = requests.begin();
  for (int step = 1; step < ranks; ++step) {
    const int from = (rank - step + ranks) % ranks;
    CHECK_MPI(MPI_Irecv(received.data() + from * count, count, MPI_INT64_T, from, tag, MPI_COMM_WORLD, &*request++));
  }
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    CHECK_MPI(MPI_Isend(sent.data() + to * count, count, MPI_INT64_T, to, tag, MPI_COMM_WORLD, &*request++));
  }
  std::copy_n(sent.data() + rank * count, count, received.data() + rank * count);
  CHECK_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

/// Rank i sends (i + j) % 3 numbers to rank j, all of them 10 * i + j. Returns whether this rank got what it should.
bool pieces_of_different_lengths(int rank, int ranks) {
  std::vector<int> counts, starts(static_cast<std::size_t>(ranks)), sent, expected;
  for (int other = 0; other < ranks; ++other) {
    counts.push_back((rank + other) % 3);  // the same both ways; in general there are counts for each
    sent.insert(sent.end(), static_cast<std::size_t>(counts.back()), 10 * rank + other);
    expected.insert(expected.end(), static_cast<std::size_t>(counts.back()), 10 * other + rank);
  }
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::vector<int> received(expected.size(), -1);
  CHECK_MPI(MPI_Alltoallv(sent.data(), counts.data(), starts.data(), MPI_INT, received.data(), counts.data(),
                          starts.data(), MPI_INT, MPI_COMM_WORLD));
  return received == expected;
}

/// Number k of the piece that `from` sends to `to`.
std::int64_t number(int from, int to, int k) { return (from + 1LL) * to + 1000LL * k; }

/// Blocks of `block` numbers for each pair of ranks: sent and received are transposes, block by block.
void small_exchange(int block, const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank(), ranks = session.ranks();
  Values sent, expected;
  for (int other = 0; other < ranks; ++other) {
    for (int k = 0; k < block; ++k) {
      sent.push_back(number(rank, other, k));
      expected.push_back(number(other, rank, k));
    }
  }
  Values received(sent.size(), -1), paired = received, at_once = received, back = received;
  by_library(sent, received, ranks);
  session.print_in_order(fmt::format("process {} sending {} receiving {}", rank, sent, received));
  by_library(received, back, ranks);
  const long messages = collective::sum(in_pairs(sent, paired, rank, ranks));
  all_at_once(sent, at_once, rank, ranks);

  const bool transposed = collective::everywhere(received == expected);
  const bool by_hand = collective::everywhere(paired == expected && at_once == expected);
  const bool restored = collective::everywhere(back == sent);
  const bool unequal = collective::everywhere(pieces_of_different_lengths(rank, ranks));
  const long sum_sent = collective::sum(std::accumulate(sent.begin(), sent.end(), 0L));
  const long sum_received = collective::sum(std::accumulate(received.begin(), received.end(), 0L));
  if (rank != 0) return;
  checks.that("received is sent, transposed", transposed);
  checks.that("the same by messages, in pairs and all at once", by_hand);
  checks.equal("messages in pairs", messages, static_cast<long>(ranks) * (ranks - 1));
  checks.that("a second exchange brings all back", restored);
  checks.equal("sum of all numbers, received as sent", sum_received, sum_sent);
  checks.that("MPI_Alltoallv: pieces of different lengths", unequal);
}

/// From 8 B for one rank to 16 MiB for all of them together.
void measure(int rank, int ranks, std::size_t up_to, cookbook::Checks& checks) {
  cookbook::Figures times("an all-to-all and a barrier", cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  bool all_right = true;
  for (collective::Size size : collective::sizes_up_to(up_to)) {
    const bool largest = size.bytes == 16 << 20;
    const std::size_t length = std::max<std::size_t>(1, size.bytes / 8 / static_cast<std::size_t>(largest ? ranks : 1));
    const int count = static_cast<int>(length);
    const std::string name = fmt::format("{:>6} for {}", size.name, largest ? "all" : "one");
    size.name = name;
    const std::uint64_t odd = 0x9e3779b97f4a7c15;
    const auto value = [&](int from, int to, int k) {
      return static_cast<std::int64_t>(odd *
                                       static_cast<std::uint64_t>((from * ranks + to) * std::int64_t(count) + k + 1));
    };
    Values sent, received(length * static_cast<std::size_t>(ranks));
    for (int to = 0; to < ranks; ++to) {
      for (int k = 0; k < count; ++k) sent.push_back(value(rank, to, k));
    }
    const std::vector<collective::Form> forms = {
        {"MPI_Alltoall", [&] { by_library(sent, received, ranks); }},
        {"in pairs", [&] { in_pairs(sent, received, rank, ranks); }},
        {"all at once", [&] { all_at_once(sent, received, rank, ranks); }},
    };
    const auto prepare = [&] { std::fill(received.begin(), received.end(), 0); };
    const auto right = [&] {
      for (int from = 0; from < ranks; ++from) {
        for (int k = 0; k < count; ++k) {
          if (received[static_cast<std::size_t>(from * count + k)] != value(from, rank, k)) return false;
        }
      }
      return true;
    };
    all_right = collective::compare(times, forms, size, prepare, right) && all_right;
  }
  if (rank != 0) return;
  checks.that("every size, all three ways: each piece is where it belongs", all_right);
  times.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int block = 1, rows = 400;
  std::size_t up_to = 16 << 20;
  cookbook::Options options("Exchange pieces between all ranks, and transpose a matrix");
  options.add("block", block, "numbers that each rank sends to each", 1, 1000);
  options.add("rows", rows, "rows of the large matrix on each rank", 1, 1000);
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Session session;
  cookbook::Checks checks;
  small_exchange(block, session, checks);
  transpose::check_and_measure(rows, session, checks);
  measure(session.rank(), session.ranks(), up_to, checks);
  return session.exit_code(checks);
}
