// Deadlock between ranks: the program's outcomes, what it says of a library that breaks a promise, and other ways out.

#define main main_of_the_program  // it is run from inside, too
#include "03_processes/mpi_deadlock/mpi_deadlock.cpp"
#undef main

#include <cstdlib>
#include <numeric>
#include <regex>

#include "03_processes/again_as_ranks.hpp"
#include "cookbook/mpi.hpp"
#include "support/run.hpp"

namespace {

bool synchronous_sends_wait = false;

}  // namespace

// MPI lets a program put functions of its own in place of MPI's, which are then called PMPI_Isend and so on. This one
// breaks a promise, unless a test asks it not to: it does not wait for the receiver. Only the program calls it.
extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int label, MPI_Comm comm,
                          MPI_Request* request) {
  return (synchronous_sends_wait ? PMPI_Issend : PMPI_Isend)(data, count, type, to, label, comm, request);
}

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// What came of the exchange in which ranks 1 and 5 make these calls first: with the small message, with the large one.
std::string outcome(const Result& result, const std::string& rank_1, const std::string& rank_5) {
  const auto found = result.captures("^MPI_" + rank_1 + " +MPI_" + rank_5 + " +(\\w+ +\\w+)$");
  return found.size() == 1 ? std::regex_replace(found[0], std::regex(" +"), ", ") : "none";
}

const std::string completes = "completes, completes", hangs = "hangs, hangs";

// Ranks that wait look for messages again and again, so a run of nine has taken 30 s on two busy processors.
constexpr auto limit = std::chrono::seconds(50);

TEST(mpi_deadlock, each_order_completes_or_hangs_as_it_must_and_further_ranks_finish_all_the_same) {
  const auto result = run_ranks(9, "mpi_deadlock", {}, {.limit = limit});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(outcome(result, "Recv", "Send"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Send", "Recv"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Recv", "Recv"), hangs) << result.text();
  EXPECT_EQ(outcome(result, "Ssend", "Ssend"), hangs) << result.text();
  EXPECT_THAT(outcome(result, "Send", "Send"), testing::AnyOf(completes, hangs, "completes, hangs")) << result.text();
  for (const std::string way : {"MPI_Sendrecv", "MPI_Irecv, MPI_Isend, MPI_Waitall", "smaller rank sends first"}) {
    EXPECT_EQ(result.lines_with("^" + way + " +arrives +arrives$").size(), 1U) << way << '\n' << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    outcomes that are as MPI promises: 8")) << result.text();
  EXPECT_TRUE(result.has_line("ok    exchanges in which each text arrived: 16")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(mpi_deadlock, from_which_size_sends_wait_is_a_setting_of_the_library) {
#ifndef OPEN_MPI
  GTEST_SKIP() << "the name of this setting is that of Open MPI";
#endif
  const auto run_with = [](const std::string& bytes) {
    return run_ranks(
        6, "mpi_deadlock", {"--small", "10000", "--large", "50000"},
        {.environment = {{"OMPI_MCA_btl_vader_eager_limit", bytes}, {"OMPI_MCA_btl_sm_eager_limit", bytes}},
         .limit = limit});
  };
  const auto low = run_with("4096"), high = run_with("16384");
  EXPECT_EQ(outcome(low, "Send", "Send"), hangs) << low.text();
  EXPECT_EQ(outcome(high, "Send", "Send"), "completes, hangs") << high.text();
}

TEST(mpi_deadlock, fewer_than_six_ranks_are_refused_in_one_line) {
  const auto result = run_ranks(5, "mpi_deadlock");
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err,
              testing::ElementsAre("mpi_deadlock: 6 ranks are needed, here are 5; start it with mpirun -n 6 "
                                   "mpi_deadlock"));
}

/// This test starts itself again as six ranks.
TEST(mpi_deadlock_promises, one_that_the_library_breaks_is_a_failure) {
  if (const auto result = again_as_ranks(6, "mpi_deadlock_test")) {
    EXPECT_EQ(outcome(*result, "Ssend", "Ssend"), "completes, hangs") << result->text();
    EXPECT_TRUE(result->has_line("FAIL  outcomes that are as MPI promises: 7, expected 8")) << result->text();
    EXPECT_TRUE(result->has_line("ok    exchanges in which each text arrived: 16")) << result->text();
    return;
  }
  std::string name = "mpi_deadlock";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 1);
}

/// This test starts itself again as six ranks. Rank 1 waits in its first call; rank 5 has its byte copied, goes on to
/// receive, and so ends the wait.
TEST(mpi_deadlock_one_rank_waits, and_the_exchange_gets_through) {
#ifndef OPEN_MPI
  GTEST_SKIP() << "that a byte is copied is known of Open MPI";
#endif
  if (again_as_ranks(6, "mpi_deadlock_test")) return;
  const mpi::Environment world(6);
  synchronous_sends_wait = true;
  Side side = side_of(world.rank(), 1);
  EXPECT_TRUE(exchange(world.rank() == 1 ? Call::ssend : Call::send, side, 30, world));
  EXPECT_TRUE(arrived(side));
}

constexpr int large = 1'000'000;

void expect_all(const std::string& received, char letter) { EXPECT_EQ(received, std::string(large, letter)); }

void lend_a_buffer(int partner, const std::string& mine, char expected) {
  std::string theirs(large, '?');
  std::vector<char> lent(large + MPI_BSEND_OVERHEAD);
  MPI_CHECK(MPI_Buffer_attach(lent.data(), static_cast<int>(lent.size())));
  MPI_CHECK(MPI_Bsend(mine.data(), large, MPI_CHAR, partner, tag, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Recv(theirs.data(), large, MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  char* detached = nullptr;
  int size = 0;
  MPI_CHECK(MPI_Buffer_detach(&detached, &size));
  expect_all(theirs, expected);
}

/// MPI_Sendrecv on one side, MPI_Ssend and MPI_Recv on the other.
void mix_with_plain_calls(int rank, int partner, const std::string& mine, char expected) {
  std::string theirs(large, '?');
  if (rank == 0) {
    MPI_CHECK(MPI_Sendrecv(mine.data(), large, MPI_CHAR, partner, tag, theirs.data(), large, MPI_CHAR, partner, tag,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else {
    MPI_CHECK(MPI_Ssend(mine.data(), large, MPI_CHAR, partner, tag, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Recv(theirs.data(), large, MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  expect_all(theirs, expected);
}

/// A step to the right round all ranks, and one from this rank to itself.
void shift(int rank, int ranks) {
  for (const int distance : {1, ranks}) {
    const int right = (rank + distance) % ranks, left = (rank - distance + ranks) % ranks;
    const std::vector<int> mine(large, rank);
    std::vector<int> theirs(large, -1);
    MPI_CHECK(MPI_Sendrecv(mine.data(), large, MPI_INT, right, tag, theirs.data(), large, MPI_INT, left, tag,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT_EQ(theirs, std::vector<int>(large, left));
  }
}

/// This test starts itself again as three ranks.
TEST(mpi_deadlock_ways_out, complete_with_large_messages) {
  if (again_as_ranks(3, "mpi_deadlock_test")) return;
  const mpi::Environment world(3);
  const int rank = world.rank(), partner = 1 - rank;
  if (rank < 2) {
    const std::string mine(large, rank == 0 ? 'a' : 'b');
    const char expected = rank == 0 ? 'b' : 'a';
    std::string theirs(large, '?');
    begin_both_then_wait(partner, mine, theirs);
    expect_all(theirs, expected);
    theirs.assign(large, '?');
    smaller_rank_sends_first(rank, partner, mine, theirs);
    expect_all(theirs, expected);
    lend_a_buffer(partner, mine, expected);
    mix_with_plain_calls(rank, partner, mine, expected);
  }
  shift(rank, world.size());
}

}  // namespace
