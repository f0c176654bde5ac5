// Deadlock: the program seen from outside. Catalogue: 3.15, 3.16, 3.17.

#include <fmt/format.h>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// What came of the exchange in which ranks 1 and 5 make these calls first: with the small message, with the large one.
std::string outcome(const Result& result, const std::string& rank_1, const std::string& rank_5) {
  const auto found = result.captures("^(?:ok   |     ) MPI_" + rank_1 + " +MPI_" + rank_5 + " *: (.*)$");
  return found.size() == 1 ? found[0] : "none";
}

/// Up to which size send first on both sides completes.
int limit(const Result& result) {
  const auto found = result.captures("^MPI_Send first on both sides completes up to (\\d+) B$");
  return found.size() == 1 ? std::stoi(found[0]) : -1;
}

const std::string completes = "completes, completes", hangs = "hangs 1 -> 5 -> 1, hangs 1 -> 5 -> 1";

TEST(mpi_deadlock, each_order_completes_or_hangs_as_it_must_and_more_ranks_finish_all_the_same) {
  const auto result = run_ranks(9, "mpi_deadlock", {}, {.limit = std::chrono::seconds(55)});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  ASSERT_GE(result.out.size(), 13U);
  EXPECT_THAT(std::vector(result.out.begin(), result.out.begin() + 13),
              testing::ElementsAre("my rank is : 0", "my rank is : 1", "sending data a to process 5",
                                   "data received is = b", "my rank is : 2", "my rank is : 3", "my rank is : 4",
                                   "my rank is : 5", "sending data b to process 1", "data received is = a",
                                   "my rank is : 6", "my rank is : 7", "my rank is : 8"));
  EXPECT_EQ(outcome(result, "Recv", "Send"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Send", "Recv"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Ssend", "Recv"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Recv", "Recv"), hangs) << result.text();
  EXPECT_EQ(outcome(result, "Ssend", "Ssend"), hangs) << result.text();
  EXPECT_EQ(outcome(result, "Bsend", "Bsend"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Irecv", "Irecv"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Sendrecv", "Sendrecv"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Sendrecv", "Ssend"), completes) << result.text();
  // MPI leaves this one to the library; Open MPI copies what is small.
  EXPECT_EQ(outcome(result, "Send", "Send"), "completes, hangs 1 -> 5 -> 1") << result.text();
  EXPECT_TRUE(result.has_line("ok    again, and with a byte more: completes, hangs 1 -> 5 -> 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    MPI_Bsend of more than the buffer holds: MPI_ERR_BUFFER: invalid buffer pointer"))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    in every exchange rank 1 received b and rank 5 a: yes")) << result.text();
  EXPECT_TRUE(
      result.has_line("ok    a ring of MPI_Sendrecv: each rank has its left neighbour's number, then its own: yes"))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    no message is left over: yes")) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(mpi_deadlock, the_size_from_which_sends_wait_is_a_setting_of_the_library) {
  const auto result = run_ranks(6, "mpi_deadlock", {"--large", "50000"},
                                {.environment = {{"OMPI_MCA_btl_vader_eager_limit", "16384"}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(outcome(result, "Send", "Send"), "completes, hangs 1 -> 5 -> 1") << result.text();
  EXPECT_GT(limit(result), 8192) << "the default is 4096, message and header\n" << result.text();
  EXPECT_LT(limit(result), 16384) << result.text();
}

TEST(mpi_deadlock, a_message_that_fits_shows_nothing_of_the_fault) {
  const auto result = run_ranks(6, "mpi_deadlock", {"--large", "500"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(outcome(result, "Send", "Send"), completes) << result.text();
  EXPECT_EQ(outcome(result, "Ssend", "Ssend"), hangs) << result.text();
  EXPECT_EQ(limit(result), 500) << result.text();
}

void expect_too_few(const Result& result, int ranks) {
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err,
              testing::ElementsAre(fmt::format(
                  "mpi_deadlock: 6 ranks are needed, here are {}; start it with mpirun -n 6 mpi_deadlock", ranks)));
}

TEST(mpi_deadlock, fewer_than_six_ranks_are_refused_in_one_line) {
  expect_too_few(run_ranks(5, "mpi_deadlock"), 5);
  expect_too_few(run("mpi_deadlock"), 1);  // without mpirun
}

TEST(mpi_deadlock, ctrl_c_ends_all_ranks_while_two_are_stuck) {
  const auto result = run_ranks(6, "mpi_deadlock", {"--timeout-ms", "1000"}, {.interrupt_after_ms = 1200});
  EXPECT_FALSE(result.timed_out) << result.text();
  EXPECT_NE(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0) << result.text();
}

}  // namespace
