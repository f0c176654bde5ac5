// Send and receive: the program seen from outside. Catalogue: 3.C7, 3.14.

#include <unistd.h>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// The lines that the ranks print, before the first check.
std::vector<std::string> lines_of_ranks(const Result& result) {
  std::vector<std::string> lines;
  for (const std::string& line : result.out) {
    if (line.starts_with("ok") || line.starts_with("FAIL")) break;
    lines.push_back(line);
  }
  return lines;
}

TEST(mpi_send_receive, each_message_arrives_where_it_was_sent_and_nowhere_else) {
  const auto result = run_ranks(9, "mpi_send_receive", {"--delay-ms", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(lines_of_ranks(result),
              testing::ElementsAre("my rank is : 0", "sending data 10000000 to process 4", "my rank is : 1",
                                   "sending data hello to process 8", "my rank is : 2", "my rank is : 3",
                                   "my rank is : 4", "data received is = 10000000", "my rank is : 5", "my rank is : 6",
                                   "my rank is : 7", "my rank is : 8", "data1 received is = hello"));
  EXPECT_TRUE(result.has_line("ok    messages sent and received: [2, 2]")) << result.text();
  // The type is kept, and a receive that names another source leaves a message alone.
  EXPECT_TRUE(result.has_line("ok    rank 4 received: 1 MPI_INT: 10000000")) << result.text();
  EXPECT_TRUE(result.has_line("ok    rank 8 received: 5 MPI_CHAR, no whole number of MPI_INT: hello")) << result.text();
  EXPECT_TRUE(result.has_line("ok    rank 4 asked for the message of rank 3 first and got: 3, then 2"))
      << result.text();
  // Measured from 1 byte to 16 MiB.
  EXPECT_TRUE(result.has_line("ok    messages of 1 B to 16 MiB came back unchanged: yes")) << result.text();
  EXPECT_THAT(result.captures("^(\\d+ K?i?B) +[\\d.]+ us"),
              testing::ElementsAre("1 B", "1 KiB", "4 KiB", "64 KiB", "1024 KiB", "16384 KiB"));
  EXPECT_EQ(result.captures("^message +([\\d.]+) GB/s").size(), 2U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(mpi_send_receive, more_ranks_only_say_their_number) {
  for (const int ranks : {10, 16}) {
    const auto result = run_ranks(ranks, "mpi_send_receive", {"--delay-ms", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(lines_of_ranks(result).size(), static_cast<std::size_t>(ranks) + 4) << result.text();
    EXPECT_TRUE(result.has_line("my rank is : " + std::to_string(ranks - 1))) << result.text();
    EXPECT_TRUE(result.has_line("ok    messages sent and received: [2, 2]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    a send to rank " + std::to_string(ranks) + ": MPI_ERR_RANK: invalid rank"))
        << result.text();
  }
}

void expect_too_few(const Result& result, int ranks) {
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_send_receive: 9 ranks are needed, here are " +
                                               std::to_string(ranks) + "; start it with mpirun -n 9 mpi_send_receive"));
}

TEST(mpi_send_receive, fewer_ranks_are_refused_in_one_line) {
  for (const int ranks : {2, 8}) expect_too_few(run_ranks(ranks, "mpi_send_receive"), ranks);
}

TEST(mpi_send_receive, without_mpirun_it_is_one_rank) { expect_too_few(run("mpi_send_receive"), 1); }

TEST(mpi_send_receive, a_buffered_send_waits_for_nobody_and_a_synchronous_one_for_the_receive) {
  for (const std::string delay : {"1", "200"}) {
    const auto result = run_ranks(9, "mpi_send_receive", {"--delay-ms", delay});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    buffered sends that came back before the receive, small and large: [1, 1]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    synchronous sends that came back before the receive, small and large: [0, 0]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    bytes that the sender's overwriting has spoiled: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^(standard|buffered|synchronous|ready) +send of +(1|1048576) B came back").size(), 8U);
  }
}

TEST(mpi_send_receive, a_failed_check_is_every_ranks_exit_code_and_hides_the_figures) {
  const auto result = run_ranks(9, "mpi_send_receive", {"--delay-ms", "1"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.lines_with("GB/s").empty()) << result.text();
}

TEST(mpi_send_receive, runs_as_an_ordinary_user) {
  if (geteuid() != 0) GTEST_SKIP() << "all tests here run as an ordinary user";
  const std::string setpriv = "/usr/bin/setpriv", nobody = "--reuid=65534", program = bin() + "/mpi_send_receive";
  if (access(setpriv.c_str(), X_OK) != 0) GTEST_SKIP() << "no " << setpriv;
  if (run(setpriv, {nobody, "--clear-groups", "/usr/bin/test", "-x", program}).exit_code != 0) {
    GTEST_SKIP() << program << " is in a folder that is root's alone";
  }
  const auto result = run(setpriv, {nobody, "--clear-groups", "/usr/bin/mpirun", "--quiet", "--oversubscribe", "-n",
                                    "9", program, "--delay-ms", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(mpi_send_receive, an_interrupt_ends_all_ranks) {
  const auto result = run_ranks(9, "mpi_send_receive", {"--delay-ms", "10000"}, {.interrupt_after_ms = 1500});
  EXPECT_FALSE(result.timed_out) << result.text();
  EXPECT_NE(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0) << result.text();
}

}  // namespace
