/// A test that starts itself again as ranks of MPI.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "support/run.hpp"

/// In the test's first process: runs the only test of this suite in `program` (such as "mpi_reduce_test") as so many
/// ranks, expects that each of them passes, and gives what they printed; the test is over then. In a rank: nothing.
inline std::optional<test_support::Result> again_as_ranks(int ranks, const std::string& program) {
  if (std::getenv("COOKBOOK_TEST_RANKS") != nullptr) return std::nullopt;
  const std::string suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  auto result = test_support::run_ranks(ranks, program, {"--gtest_filter=" + suite + ".*"},
                                        {.environment = {{"COOKBOOK_TEST_RANKS", "1"}, {"GTEST_COLOR", "no"}}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("PASSED +\\] 1 test").size(), static_cast<std::size_t>(ranks)) << result.text();
  return result;
}
