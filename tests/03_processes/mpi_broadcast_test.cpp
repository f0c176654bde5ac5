// Broadcast: the program seen from outside, and broadcast_by_hand among ranks. Catalogue: 3.C8, 3.18.

#include "03_processes/mpi_broadcast/broadcast_by_hand.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "support/run.hpp"

namespace {

int messages = 0;   // that this rank has sent
int round_now = 0;  // of the last message that this rank has sent or received

/// The tag of a second message, which tells in which round the first was sent.
constexpr int round_tag = 999;

}  // namespace

// MPI lets a program put functions of its own in place of MPI's, which are then called PMPI_Send and so on. These count
// messages and rounds: a message is sent in the round after that in which its sender has sent or received its last one.
extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++messages;
  ++round_now;
  PMPI_Send(&round_now, 1, MPI_INT, to, round_tag, comm);
  return PMPI_Send(data, count, type, to, tag, comm);
}
extern "C" int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  PMPI_Recv(&round_now, 1, MPI_INT, from, round_tag, comm, MPI_STATUS_IGNORE);
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}

namespace {

using test_support::run;
using test_support::run_ranks;

TEST(mpi_broadcast, all_ranks_have_the_roots_value_for_any_root) {
  const std::vector<std::pair<int, int>> cases = {{10, 7}, {4, 0}, {1, 0}};
  for (const auto& [ranks, root] : cases) {
    const auto result = run_ranks(ranks, "mpi_broadcast", {"--root", std::to_string(root)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> lines;
    for (int i = 0; i < ranks; ++i) lines.push_back("rank " + std::to_string(i) + " has 100");
    EXPECT_THAT(result.lines_with("^rank "), testing::ElementsAreArray(lines));
    const std::string all = std::to_string(ranks);
    EXPECT_TRUE(result.has_line("ok    ranks with the root's value after MPI_Bcast: " + all)) << result.text();
    EXPECT_TRUE(result.has_line("ok    ranks with the root's value after the broadcast by hand: " + all));
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_broadcast, a_root_that_does_not_exist_is_refused) {
  const auto result = run("mpi_broadcast", {"--root", "1"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_broadcast: --root 1: there are only 1 ranks"));
}

TEST(mpi_broadcast, two_roots_are_accepted_in_silence_by_the_pitfall) {
  const auto result = run_ranks(10, "mpi_broadcast_two_roots");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("rank 5 got 105, then 205")) << result.text();
  EXPECT_TRUE(result.has_line("rank 4 got 100, then 105")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

/// The sum, or the largest, of what the ranks of `comm` have.
int over(MPI_Comm comm, int mine, MPI_Op operation) {
  int result = 0;
  MPI_CHECK(MPI_Allreduce(&mine, &result, 1, MPI_INT, operation, comm));
  return result;
}

/// Two broadcasts in a row: a fast rank is in the second while a slow one is still in the first.
void expect_two_broadcasts(int root, int rank, int ranks, MPI_Comm comm) {
  messages = round_now = 0;
  int first = rank == root ? 100 : -1, second = rank == root ? 200 : -1;
  broadcast_by_hand(&first, 1, MPI_INT, root, comm);
  const int messages_of_first = over(comm, messages, MPI_SUM), rounds_of_first = over(comm, round_now, MPI_MAX);
  broadcast_by_hand(&first, 1, MPI_INT, root, comm);
  broadcast_by_hand(&second, 1, MPI_INT, root, comm);
  EXPECT_EQ(first, 100) << "root " << root << " of " << ranks;
  EXPECT_EQ(second, 200) << "root " << root << " of " << ranks;
  EXPECT_EQ(messages_of_first, ranks - 1) << "root " << root;
  EXPECT_EQ(rounds_of_first, std::bit_width(static_cast<unsigned>(ranks - 1))) << "root " << root << " of " << ranks;
}

/// This test starts itself again as ten ranks; they form groups of one rank, of two ranks, and so on.
TEST(mpi_broadcast_broadcast_by_hand, reaches_all_ranks_with_one_message_each_in_the_fewest_rounds) {
  if (std::getenv("COOKBOOK_TEST_RANKS") == nullptr) {
    const auto result = run_ranks(10, "mpi_broadcast_test", {"--gtest_filter=mpi_broadcast_broadcast_by_hand.*"},
                                  {.environment = {{"COOKBOOK_TEST_RANKS", "1"}, {"GTEST_COLOR", "no"}}});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("PASSED +\\] 1 test").size(), 10U) << result.text();
    return;
  }
  const mpi::Environment world;
  const int rank = world.rank();
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    MPI_Comm comm;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm));
    if (comm == MPI_COMM_NULL) continue;
    for (int root = 0; root < ranks; ++root) expect_two_broadcasts(root, rank, ranks, comm);
    MPI_CHECK(MPI_Comm_free(&comm));
  }
  std::vector<double> many(100'000, rank == 3 ? 1.5 : 0);  // too large to be sent without its receiver
  broadcast_by_hand(many.data(), static_cast<int>(many.size()), MPI_DOUBLE, 3, MPI_COMM_WORLD);
  EXPECT_EQ(std::count(many.begin(), many.end(), 1.5), 100'000);
}

}  // namespace
