#include "cookbook/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <vector>

namespace {

using cookbook::Verdict;

/// Makes every kind of check, all of them true.
Verdict all_checks() {
  Verdict verdict;
  verdict.equal("whole", 7L, 7L);
  verdict.equal("largest", std::numeric_limits<unsigned long>::max(), std::numeric_limits<unsigned long>::max());
  verdict.equal("real", 0.0, 0.0);
  verdict.equal("huge", 1e30, 1e30);
  verdict.equal("truth", true, true);
  verdict.equal("text", std::string("a"), "a");
  verdict.equal("literal", "a", "a");
  verdict.equal("list", std::vector<int>{1, 2}, {1, 2});
  verdict.equal("empty list", std::vector<int>{}, {});
  verdict.within("range", 5, 0, 10);
  verdict.within("zero", 0.0, 0.0, 0.0);
  verdict.within("whole range", 5L, std::numeric_limits<long>::min() + 1, std::numeric_limits<long>::max());
  verdict.that("that", true);
  return verdict;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(verdict, true_checks_pass) {
  testing::internal::CaptureStdout();
  const Verdict verdict = all_checks();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(verdict.passed());
  EXPECT_EQ(verdict.exit_code(), 0);
  EXPECT_EQ(count(text, "ok    "), 13);
  EXPECT_THAT(text, testing::HasSubstr("ok    whole: 7\n"));
  EXPECT_THAT(text, testing::HasSubstr("ok    list: [1, 2]\n"));
}

TEST(verdict, every_kind_of_check_can_be_spoiled) {
  setenv("COOKBOOK_FAULT", "1", 1);
  testing::internal::CaptureStdout();
  const Verdict verdict = all_checks();
  const std::string text = testing::internal::GetCapturedStdout();
  unsetenv("COOKBOOK_FAULT");
  EXPECT_EQ(verdict.exit_code(), 1);
  EXPECT_EQ(count(text, "FAIL  "), 13) << text;
  EXPECT_EQ(count(text, "ok    "), 0) << text;
}

TEST(verdict, one_false_check_among_true_ones_fails_all) {
  Verdict verdict;
  testing::internal::CaptureStdout();
  verdict.equal("right", 1, 1);
  verdict.equal("wrong", 1, 2);
  verdict.equal("right again", 1, 1);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("FAIL  wrong: 1, expected 2\n"));
  EXPECT_FALSE(verdict.passed());
  EXPECT_EQ(verdict.exit_code(), 1);
}

TEST(verdict, a_nan_is_within_nothing) {
  Verdict verdict;
  testing::internal::CaptureStdout();
  verdict.within("nan", std::numeric_limits<double>::quiet_NaN(), -1e300, 1e300);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(verdict.exit_code(), 1);
}

TEST(verdict, no_check_is_no_success) { EXPECT_EQ(Verdict().exit_code(), 1); }

}  // namespace
