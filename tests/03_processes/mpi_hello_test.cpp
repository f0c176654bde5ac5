// Hello from every rank: the program seen from outside. Catalogue: 3.C5, 3.C6, 3.13.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// The lines that `ranks` ranks print, in the order of the ranks.
std::vector<std::string> greetings(int ranks) {
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("hello world from process " + std::to_string(i) + " of " + std::to_string(ranks));
  }
  return lines;
}

/// The figure behind "error " in the line about pi.
double error_of_pi(const Result& result) {
  const auto errors = result.captures("^pi is approximately [\\d.]+, error ([\\d.e+-]+)$");
  return errors.size() == 1 ? std::stod(errors[0]) : -1;
}

TEST(mpi_hello, every_rank_prints_one_whole_line) {
  for (const int ranks : {1, 5, 9}) {
    const auto result = run_ranks(ranks, "mpi_hello");
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.lines_with("hello"), testing::UnorderedElementsAreArray(greetings(ranks))) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_hello, ranks_count_from_zero_in_each_communicator) {
  const auto result = run_ranks(5, "mpi_hello");
  EXPECT_TRUE(result.has_line("ok    all processes: [\"0 of 5\", \"1 of 5\", \"2 of 5\", \"3 of 5\", \"4 of 5\"]"))
      << result.text();
  EXPECT_TRUE(result.has_line(
      "ok    the same, even and odd apart: [\"0 of 3\", \"0 of 2\", \"1 of 3\", \"1 of 2\", \"2 of 3\"]"))
      << result.text();
}

TEST(mpi_hello, pi_is_the_same_for_any_number_of_ranks) {
  for (const int ranks : {1, 4, 9}) {
    const auto result = run_ranks(ranks, "mpi_hello");
    EXPECT_TRUE(result.has_line("pi is approximately 3.1415926544, error 8.33e-10")) << result.text();
  }
}

TEST(mpi_hello, ten_times_the_rectangles_are_a_hundredth_of_the_error) {
  double before = 0;
  for (const std::string intervals : {"10", "100", "1000"}) {
    const auto result = run_ranks(4, "mpi_hello", {"--intervals", intervals});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const double error = error_of_pi(result);
    ASSERT_GT(error, 0) << result.text();
    if (before > 0) {
      EXPECT_NEAR(before / error, 100, 1) << result.text();
    }
    before = error;
  }
}

TEST(mpi_hello, more_ranks_than_rectangles_do_no_harm) {
  for (const std::string intervals : {"1", "3"}) {
    const auto result = run_ranks(5, "mpi_hello", {"--intervals", intervals});
    EXPECT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(mpi_hello, without_mpirun_it_is_process_0_of_1) {
  const auto result = run("mpi_hello");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.lines_with("hello"), testing::ElementsAre("hello world from process 0 of 1"));
}

TEST(mpi_hello, programs_started_by_one_mpirun_share_a_communicator) {
  const std::string program = bin() + "/mpi_hello";
  const auto result = run("/usr/bin/mpirun", {"--quiet", "--allow-run-as-root", "--oversubscribe", "-n", "2", program,
                                              ":", "-n", "3", program});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.lines_with("hello"), testing::UnorderedElementsAreArray(greetings(5))) << result.text();
}

TEST(mpi_hello, a_failed_check_is_the_exit_code_of_mpirun) {
  const auto result = run_ranks(5, "mpi_hello", {}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

}  // namespace
