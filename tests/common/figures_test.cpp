#include "cookbook/figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cookbook/print.hpp"

namespace {

using cookbook::Figures;
using testing::ContainsRegex;
using testing::HasSubstr;

cookbook::Verdict passed() {
  cookbook::Verdict verdict;
  verdict.equal("one", 1, 1);
  return verdict;
}

std::string printed(const Figures& figures, const cookbook::Verdict& verdict) {
  testing::internal::CaptureStdout();
  figures.print(verdict);
  return testing::internal::GetCapturedStdout();
}

TEST(figures, a_rate_is_amount_over_time_and_its_extremes_are_in_order) {
  Figures figures("copies", cookbook::rate("GB/s", 1e9));
  figures.add("memcpy", {.minimum = 1, .median = 2, .maximum = 4, .repeats = 9}, 8e9);
  EXPECT_THAT(printed(figures, passed()), ContainsRegex("memcpy +4.00 GB/s +2.00 GB/s +8.00 GB/s\n"));
}

TEST(figures, a_cost_is_time_over_amount) {
  Figures figures("tasks", cookbook::cost("ns", 1e-9));
  figures.add("empty task", {.minimum = 1, .median = 2, .maximum = 4, .repeats = 9}, 1e7);
  EXPECT_THAT(printed(figures, passed()), ContainsRegex("empty task +200 ns +100 ns +400 ns\n"));
}

TEST(figures, rows_show_their_share_of_the_limit_and_how_they_compare_with_the_peer) {
  for (const bool cost : {false, true}) {
    Figures figures("sums", cost ? cookbook::cost("ns", 1e-9) : cookbook::rate("GB/s", 1e9));
    figures.add_limit("limit", {1, 1, 1, 3}, 1e9);
    figures.add_peer("library", {4, 4, 4, 3}, 1e9);
    figures.add("ours", {2, 2, 2, 3}, 1e9);
    const std::string text = printed(figures, passed());
    EXPECT_THAT(text, ContainsRegex("of limit +vs peer"));
    EXPECT_THAT(text, ContainsRegex("library.* 25 % +1.00 x"));
    EXPECT_THAT(text, ContainsRegex("ours.* 50 % +2.00 x"));
  }
}

TEST(figures, nothing_is_printed_when_a_check_has_failed) {
  Figures figures("sums", cookbook::rate("GB/s", 1e9));
  figures.add("ours", {1, 1, 1, 1}, 1);
  cookbook::Verdict failed;
  testing::internal::CaptureStdout();
  failed.equal("one", 1, 2);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(printed(figures, failed), "");
}

TEST(figures, json_gives_a_record_a_row) {
  Figures figures("sums", cookbook::rate("GB/s", 1e9));
  figures.add_limit("limit", {1, 1, 1, 3}, 1e9);
  figures.add("ours", {2, 2, 2, 3}, 1e9);
  cookbook::want_json(true);
  const std::string text = printed(figures, passed());
  cookbook::want_json(false);
  EXPECT_THAT(text, HasSubstr(R"("row": "ours", "unit": "GB/s", "median": 0.5)"));
  EXPECT_THAT(text, HasSubstr(R"("share_of_limit": 0.5)"));
}

}  // namespace
