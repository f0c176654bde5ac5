#include "cookbook/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <vector>

namespace {

using cookbook::Checks;

/// Makes every kind of check, all of them true.
Checks all_checks() {
  Checks checks;
  checks.equal("whole", 7L, 7L);
  checks.equal("largest", std::numeric_limits<unsigned long>::max(), std::numeric_limits<unsigned long>::max());
  checks.equal("real", 0.0, 0.0);
  checks.equal("huge", 1e30, 1e30);
  checks.equal("truth", true, true);
  checks.equal("text", std::string("a"), "a");
  checks.equal("literal", "a", "a");
  checks.equal("list", std::vector<int>{1, 2}, {1, 2});
  checks.equal("empty list", std::vector<int>{}, {});
  checks.within("range", 5, 0, 10);
  checks.within("zero", 0.0, 0.0, 0.0);
  checks.within("whole range", 5L, std::numeric_limits<long>::min() + 1, std::numeric_limits<long>::max());
  checks.that("that", true);
  return checks;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(checks, true_checks_pass) {
  testing::internal::CaptureStdout();
  const Checks checks = all_checks();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(checks.passed());
  EXPECT_EQ(checks.exit_code(), 0);
  EXPECT_EQ(count(text, "ok    "), 13);
  EXPECT_THAT(text, testing::HasSubstr("ok    whole: 7\n"));
  EXPECT_THAT(text, testing::HasSubstr("ok    list: [1, 2]\n"));
}

TEST(checks, every_kind_of_check_can_be_spoiled) {
  setenv("COOKBOOK_FAULT", "1", 1);
  testing::internal::CaptureStdout();
  const Checks checks = all_checks();
  const std::string text = testing::internal::GetCapturedStdout();
  unsetenv("COOKBOOK_FAULT");
  EXPECT_EQ(checks.exit_code(), 1);
  EXPECT_EQ(count(text, "FAIL  "), 13) << text;
  EXPECT_EQ(count(text, "ok    "), 0) << text;
}

TEST(checks, one_false_check_among_true_ones_fails_all) {
  Checks checks;
  testing::internal::CaptureStdout();
  checks.equal("right", 1, 1);
  checks.equal("wrong", 1, 2);
  checks.equal("right again", 1, 1);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("FAIL  wrong: 1, expected 2\n"));
  EXPECT_FALSE(checks.passed());
  EXPECT_EQ(checks.exit_code(), 1);
}

TEST(checks, a_nan_is_within_nothing) {
  Checks checks;
  testing::internal::CaptureStdout();
  checks.within("nan", std::numeric_limits<double>::quiet_NaN(), -1e300, 1e300);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(checks.exit_code(), 1);
}

TEST(checks, no_check_is_no_success) { EXPECT_EQ(Checks().exit_code(), 1); }

}  // namespace
