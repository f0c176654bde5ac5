// Broadcast
//
// One rank, the root, has a value; after a broadcast all ten have it. MPI_Bcast does it in one call, which all ranks
// make. Beside it stand four ways to do it by messages: from the root to each in turn, to all at once, along a tree in
// which each rank sends to two, and by doubling in each round those who have the value. All take 9 messages for 10
// ranks; in the trees several ranks send at the same time. The pitfall, mpi_broadcast_two_roots.cpp, shows what comes
// of ranks that do not agree who the root is.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_broadcast/mpi_broadcast.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast
// Run:     mpirun -n 10 mpi_broadcast [--root N] [--odd-one N] [--up-to N]

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"

namespace {

/// One rank's part in a broadcast of `bytes` at `data`. Ranks are counted from the root: the root is at place 0. The
/// tag of a message is the round in which it is sent, and a rank sends one message a round.
struct Part {
  Part(int root_, void* data_, std::size_t bytes_) : root(root_), data(data_), bytes(static_cast<int>(bytes_)) {
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    place = (rank - root + ranks) % ranks;
  }
  void send(int to) {
    ++messages;
    ++round;
    CHECK_MPI(MPI_Send(data, bytes, MPI_BYTE, (to + root) % ranks, round, MPI_COMM_WORLD));
  }
  MPI_Request begin_to_send(int to) {
    ++messages;
    ++round;
    MPI_Request send;
    CHECK_MPI(MPI_Isend(data, bytes, MPI_BYTE, (to + root) % ranks, round, MPI_COMM_WORLD, &send));
    return send;
  }
  void receive(int from) {
    MPI_Status status;
    CHECK_MPI(MPI_Recv(data, bytes, MPI_BYTE, (from + root) % ranks, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    round = status.MPI_TAG;
  }

  int root;
  void* data;
  int bytes;
  int rank = 0;
  int ranks = 0;
  int place = 0;
  int messages = 0;  ///< sent by this rank
  int round = 0;     ///< of its last message
};

void one_by_one(Part& part) {
  if (part.place > 0) return part.receive(0);
  for (int to = 1; to < part.ranks; ++to) part.send(to);
}

/// As one by one, but the root begins all sends before it waits for any of them.
void all_at_once(Part& part) {
  if (part.place > 0) return part.receive(0);
  std::vector<MPI_Request> sends;
  for (int to = 1; to < part.ranks; ++to) sends.push_back(part.begin_to_send(to));
  CHECK_MPI(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
}

/// 0 sends to 1 and 2, these to 3, 4, 5 and 6, and so on.
void binary_tree(Part& part) {
  if (part.place > 0) part.receive((part.place - 1) / 2);
  for (const int to : {2 * part.place + 1, 2 * part.place + 2}) {
    if (to < part.ranks) part.send(to);
  }
}

/// In each round, every place that has the data sends it to one that has not: 1, 2, 4, 8 have it, at last all.
void binomial_tree(Part& part) {
  for (int have = 1; have < part.ranks; have *= 2) {
    if (part.place < have && part.place + have < part.ranks) part.send(part.place + have);
    if (part.place >= have && part.place < 2 * have) part.receive(part.place - have);
  }
}

constexpr int absent = -1, shared_value = 100;

/// Broadcasts an integer with `form`, and another. Rank 0 checks that all have both, and with how many messages and in
/// how many rounds each came.
void check_form(const char* name, void (*form)(Part&), int root, int min_rounds, int max_rounds,
                cookbook::Checks& checks) {
  int value = absent, next = absent;
  Part part(root, &value, sizeof value), second(root, &next, sizeof next);
  if (part.place == 0) value = shared_value, next = shared_value + 1;
  form(part);
  form(second);  // at once: a fast rank is in it already while a slow one is still in the first
  const bool right = collective::everywhere(value == shared_value && next == shared_value + 1);
  const int messages = static_cast<int>(collective::sum(part.messages));
  const int rounds = collective::extremes(part.round).second;
  if (part.rank != 0) return;
  checks.that(fmt::format("{}: two broadcasts in a row reached all", name), right);
  checks.equal(fmt::format("{}: messages", name), messages, part.ranks - 1);
  checks.within(fmt::format("{}: rounds", name), rounds, min_rounds, max_rounds);
}

/// From 8 B up: the library's broadcast and three of ours.
void measure(int rank, int root, std::size_t up_to, cookbook::Checks& checks) {
  cookbook::Figures times("a broadcast and a barrier", cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  bool all_right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const std::vector<std::uint64_t> sent = collective::random_numbers(size.bytes / 8, 1);
    std::vector<std::uint64_t> data = sent;
    const auto in_part = [&](auto&& form) {
      return [&, form] {
        Part part(root, data.data(), size.bytes);
        form(part);
      };
    };
    const int bytes = static_cast<int>(size.bytes);
    const std::vector<collective::Form> forms = {
        {"MPI_Bcast", [&] { CHECK_MPI(MPI_Bcast(data.data(), bytes, MPI_BYTE, root, MPI_COMM_WORLD)); }},
        {"one by one", in_part(one_by_one)},
        {"all at once", in_part(all_at_once)},
        {"binomial tree", in_part(binomial_tree)},
    };
    const auto prepare = [&] {
      if (rank != root) std::fill(data.begin(), data.end(), 0);
    };
    all_right = collective::compare(times, forms, size, prepare, [&] { return data == sent; }) && all_right;
  }
  if (rank != 0) return;
  checks.that("every size, all four ways: every rank has the root's data", all_right);
  times.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int root = 0, odd_one = -1;
  std::size_t up_to = 16 << 20;
  cookbook::Options options("Share one rank's value with all");
  options.add("root", root, "the rank that has the value", 0, 1'000'000);
  options.add("odd-one", odd_one, "a rank that takes itself for the root, or -1 for none", -1, 1'000'000);
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Session session;
  const int rank = session.rank();
  if (std::max(root, odd_one) >= session.ranks()) {
    return session.refuse(fmt::format("no rank {} among {}", std::max(root, odd_one), session.ranks()));
  }

  // MPI_Bcast does not notice ranks that name different roots: finding out would cost more than the broadcast.
  const auto [lowest, highest] = collective::extremes(rank == odd_one ? rank : root);
  if (lowest != highest) {
    return session.refuse(fmt::format("the ranks name different roots, from {} to {}", lowest, highest));
  }

  int shared = rank == root ? shared_value : absent;
  const std::string before = shared == absent ? "none" : fmt::format("{}", shared);
  CHECK_MPI(MPI_Bcast(&shared, 1, MPI_INT, root, MPI_COMM_WORLD));
  session.print_in_order(fmt::format("process = {} variable shared = {}, was {}", rank, shared, before));

  cookbook::Checks checks;
  const bool right = collective::everywhere(shared == shared_value);
  if (rank == 0) checks.that("MPI_Bcast reached all", right);
  // With each round, at most twice as many have the value: so many rounds are needed, and no more than one a message.
  const int fewest = std::bit_width(static_cast<unsigned>(session.ranks() - 1)), most = session.ranks() - 1;
  check_form("one by one", one_by_one, root, most, most, checks);
  check_form("all at once", all_at_once, root, most, most, checks);
  check_form("binary tree", binary_tree, root, fewest, most, checks);
  check_form("binomial tree", binomial_tree, root, fewest, fewest, checks);
  measure(rank, root, up_to, checks);
  return session.exit_code(checks);
}
