// Hello from every rank: the program's output, and what its checks say of a sum with an error.

#define main main_of_the_program  // it is run from inside, too
#include "03_processes/mpi_hello/mpi_hello.cpp"
#undef main

#include <string>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "support/run.hpp"

namespace {

double error_of_sum = 0;

}  // namespace

// MPI lets a program put functions of its own in place of MPI's, which are then called PMPI_Reduce and so on.
extern "C" int MPI_Reduce(const void* given, void* combined, int count, MPI_Datatype type, MPI_Op operation, int root,
                          MPI_Comm comm) {
  const int error = PMPI_Reduce(given, combined, count, type, operation, root, comm);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (rank == root) *static_cast<double*>(combined) += error_of_sum;
  return error;
}

namespace {

using test_support::bin;
using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// Each of `ranks` ranks has printed one whole line.
void expect_greetings(const Result& result, int ranks) {
  ASSERT_EQ(result.exit_code, 0) << result.text();
  std::vector<std::string> lines;
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("hello world from process " + std::to_string(i) + " of " + std::to_string(ranks));
  }
  EXPECT_THAT(result.lines_with("hello"), testing::UnorderedElementsAreArray(lines)) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

/// What the ranks have added up, in their order.
std::vector<double> parts(const Result& result) {
  std::vector<double> all;
  for (const std::string& part : result.captures("^rank \\d has added up ([\\d.]+)$")) all.push_back(std::stod(part));
  return all;
}

/// By how much the sum differs from pi.
double error_of_pi(const Result& result) {
  const auto errors = result.captures("^together +[\\d.]+, which differs from pi by ([\\d.e+-]+)$");
  return errors.size() == 1 ? std::stod(errors[0]) : -1;
}

TEST(mpi_hello, every_rank_prints_one_whole_line_and_pi_is_the_same_for_any_number_of_ranks) {
  for (const int ranks : {1, 9}) {
    const auto result = run_ranks(ranks, "mpi_hello");
    expect_greetings(result, ranks);
    EXPECT_TRUE(result.has_line("together      3.1415926544, which differs from pi by 8.33e-10")) << result.text();
    EXPECT_EQ(parts(result).size(), static_cast<std::size_t>(ranks)) << result.text();
  }
}

TEST(mpi_hello, each_rank_adds_up_its_own_part_and_the_parts_are_the_whole) {
  const auto result = run_ranks(3, "mpi_hello", {"--intervals", "6"});
  const std::vector<double> added = parts(result);
  ASSERT_EQ(added.size(), 3U) << result.text();
  for (int rank = 0; rank < 3; ++rank) {  // of six rectangles, rank 0 has the first and the fourth, and so on
    double expected = 0;
    for (const int i : {rank, rank + 3}) expected += 4 / (1 + (i + 0.5) / 6 * (i + 0.5) / 6) / 6;
    EXPECT_NEAR(added[rank], expected, 1e-9) << result.text();
  }
  EXPECT_EQ(result.captures("^together +([\\d.]+),").size(), 1U);
  EXPECT_NEAR(added[0] + added[1] + added[2], std::stod(result.captures("^together +([\\d.]+),").at(0)), 1e-9);
}

TEST(mpi_hello, ten_times_the_rectangles_are_a_hundredth_of_the_error) {
  const auto ten = run_ranks(4, "mpi_hello", {"--intervals", "10"});
  const auto hundred = run_ranks(4, "mpi_hello", {"--intervals", "100"});
  ASSERT_GT(error_of_pi(hundred), 0) << hundred.text();
  EXPECT_NEAR(error_of_pi(ten) / error_of_pi(hundred), 100, 1) << ten.text() << hundred.text();
}

/// In the only test of a suite, which starts itself again as two ranks: what the two checks of pi say if the sum of the
/// ranks differs by so much from what they have added up.
void expect_with_error(double error, const std::string& verdict, int exit_code) {
  if (const auto result = again_as_ranks(2, "mpi_hello_test")) {
    EXPECT_EQ(result->lines_with("the error is at most .*: " + verdict + "$").size(), 1U) << result->text();
    EXPECT_EQ(result->lines_with("one process alone adds up .*: " + verdict + "$").size(), 1U) << result->text();
    return;
  }
  error_of_sum = error;
  std::string name = "mpi_hello";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), exit_code);
}

TEST(mpi_hello_small_error, is_allowed_up_to_1e_11) { expect_with_error(9e-12, "yes", 0); }
TEST(mpi_hello_larger_error, is_a_failure) { expect_with_error(1.1e-11, "no, expected yes", 1); }

TEST(mpi_hello, more_ranks_than_rectangles_do_no_harm) {
  const auto result = run_ranks(5, "mpi_hello", {"--intervals", "3"});
  expect_greetings(result, 5);
  EXPECT_GT(error_of_pi(result), 1e-3) << result.text();
}

TEST(mpi_hello, without_mpirun_it_is_process_0_of_1) { expect_greetings(run("mpi_hello"), 1); }

TEST(mpi_hello, programs_started_by_one_mpirun_share_a_communicator) {
  const std::string program = bin() + "/mpi_hello";
  expect_greetings(
      run("/usr/bin/mpirun",
          {"--quiet", "--allow-run-as-root", "--oversubscribe", "-n", "2", program, ":", "-n", "3", program},
          {.environment = {{"OMPI_MCA_opal_event_include", "poll"}}}),
      5);
}

TEST(mpi_hello, the_pitfalls_variable_is_set_on_rank_0_alone) {
  const auto result = run_ranks(3, "mpi_hello_not_shared");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out,
              testing::ElementsAre("rank 0 sees 1000 intervals", "rank 1 sees 0 intervals", "rank 2 sees 0 intervals"));
}

}  // namespace
