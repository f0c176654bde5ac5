// Broadcast: the program seen from outside, and the two broadcasts by hand among ranks.

#define main main_of_the_program  // it is run from inside, too
#include "03_processes/mpi_broadcast/mpi_broadcast.cpp"
#undef main

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <regex>

#include "03_processes/again_as_ranks.hpp"
#include "support/run.hpp"

namespace {

int broadcasts = 0;  // calls of MPI_Bcast for rank 2
int messages = 0;    // that this rank has sent
int round_now = 0;   // of the last message that this rank has sent or received

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
extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  broadcasts += root == 2;
  return PMPI_Bcast(data, count, type, root, comm);
}
extern "C" int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  EXPECT_GE(from, 0) << "a message of the next broadcast, from another rank, would be taken as well";
  PMPI_Recv(&round_now, 1, MPI_INT, from, round_tag, comm, MPI_STATUS_IGNORE);
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}

namespace {

using test_support::run;
using test_support::run_ranks;

/// The lines of the rounds, white space between columns as one blank.
std::vector<std::string> rows_of(const test_support::Result& result) {
  std::vector<std::string> rows;
  for (const std::string& line : result.lines_with("^\\d")) {
    rows.push_back(std::regex_replace(line, std::regex(" +"), " "));
  }
  return rows;
}

/// By one form, rank i gets the value in this round; by the other one in the round that is the length of its place in
/// bits. A form is shown until its last round.
TEST(mpi_broadcast, the_picture_shows_when_each_rank_gets_the_value_for_any_root) {
  const std::vector<std::pair<int, int>> cases = {{10, 7}, {4, 0}, {12, 11}, {1, 0}};
  for (const auto& [ranks, root] : cases) {
    const auto result = run_ranks(ranks, "mpi_broadcast", {"--root", std::to_string(root)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = std::to_string(ranks);
    EXPECT_TRUE(result.has_line("ok    ranks with the value, by MPI_Bcast, one by one, by the tree: [" + all + ", " +
                                all + ", " + all + "]"))
        << result.text();
    std::vector<std::string> rows;
    const int last_by_tree = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    for (int round = 0; round < ranks; ++round) {
      std::string one_by_one, by_tree;
      for (int i = 0; i < ranks; ++i) {
        const int got_in = i == root ? 0 : i < root ? i + 1 : i, place = (i - root + ranks) % ranks;
        const int by_tree_in = static_cast<int>(std::bit_width(static_cast<unsigned>(place)));
        one_by_one += got_in <= round ? '#' : '.';
        by_tree += by_tree_in <= round ? '#' : '.';
      }
      rows.push_back(std::to_string(round) + ' ' + one_by_one);
      if (round <= last_by_tree) rows.back() += ' ' + by_tree;
    }
    EXPECT_EQ(rows_of(result), rows) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_broadcast_program, every_rank_calls_the_broadcast_of_the_library_once) {
  if (again_as_ranks(4, "mpi_broadcast_test")) return;
  char name[] = "mpi_broadcast", option[] = "--root=2", *arguments[] = {name, option, nullptr};
  EXPECT_EQ(main_of_the_program(2, arguments), 0);
  EXPECT_EQ(broadcasts, 1);
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

using Broadcast = int (*)(void*, int, MPI_Datatype, int, MPI_Comm);

/// Two broadcasts in a row: a fast rank is in the second while a slow one is still in the first. The number of rounds
/// and the round that the function returns must be those that are counted here.
void expect_two_broadcasts(Broadcast broadcast, int rounds, int root, int rank, int ranks, MPI_Comm comm) {
  messages = round_now = 0;
  int first = rank == root ? 100 : -1, second = rank == root ? 200 : -1;
  const int round = broadcast(&first, 1, MPI_INT, root, comm);
  const int messages_of_first = over(comm, messages, MPI_SUM), rounds_of_first = over(comm, round_now, MPI_MAX);
  EXPECT_EQ(over(comm, round, MPI_MAX), rounds) << "root " << root << " of " << ranks;
  EXPECT_EQ(round == 0, rank == root);
  EXPECT_LE(round, round_now);
  broadcast(&first, 1, MPI_INT, root, comm);
  broadcast(&second, 1, MPI_INT, root, comm);
  EXPECT_EQ(first, 100) << "root " << root << " of " << ranks;
  EXPECT_EQ(second, 200) << "root " << root << " of " << ranks;
  EXPECT_EQ(messages_of_first, ranks - 1) << "root " << root;
  EXPECT_EQ(rounds_of_first, rounds) << "root " << root << " of " << ranks;
}

/// This test starts itself again as ten ranks; they form groups of one rank, of two ranks, and so on. In a group the
/// ranks are counted backwards, so that a rank's number there is not the one in MPI_COMM_WORLD.
TEST(mpi_broadcast_by_hand, reaches_all_ranks_with_one_message_each_by_the_tree_in_the_fewest_rounds) {
  if (again_as_ranks(10, "mpi_broadcast_test")) return;
  const mpi::Environment world;
  const int rank = world.rank();
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    MPI_Comm comm;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, -rank, &comm));
    if (comm == MPI_COMM_NULL) continue;
    for (int root = 0; root < ranks; ++root) {
      const int doublings = std::bit_width(static_cast<unsigned>(ranks - 1));
      expect_two_broadcasts(broadcast_by_tree, doublings, root, ranks - 1 - rank, ranks, comm);
      expect_two_broadcasts(broadcast_one_by_one, ranks - 1, root, ranks - 1 - rank, ranks, comm);
    }
    MPI_CHECK(MPI_Comm_free(&comm));
  }
  std::vector<double> many(100'000, rank == 3 ? 1.5 : 0);  // too large to be sent without its receiver
  broadcast_by_tree(many.data(), static_cast<int>(many.size()), MPI_DOUBLE, 3, MPI_COMM_WORLD);
  EXPECT_EQ(std::count(many.begin(), many.end(), 1.5), 100'000);
}

}  // namespace
