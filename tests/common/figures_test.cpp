#include "cookbook/figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "cookbook/print.hpp"

namespace {

using cookbook::Figures;
using testing::ContainsRegex;
using testing::HasSubstr;

cookbook::Checks passed() {
  cookbook::Checks checks;
  checks.equal("one", 1, 1);
  return checks;
}

std::string printed(const Figures& figures, const cookbook::Checks& checks) {
  testing::internal::CaptureStdout();
  figures.print(checks);
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

TEST(figures, columns_compare_every_row_with_the_rows_named) {
  for (const bool cost : {false, true}) {
    Figures figures("sums", cost ? cookbook::cost("ns", 1e-9) : cookbook::rate("GB/s", 1e9));
    figures.percent_of("read");
    figures.speedup_over("library", "lib");
    figures.add("read", {1, 1, 1, 3}, 1e9);
    figures.add("library", {4, 4, 4, 3}, 1e9);
    figures.add("ours", {2, 2, 2, 3}, 1e9);
    const std::string text = printed(figures, passed());
    EXPECT_THAT(text, ContainsRegex("of read +vs lib"));
    EXPECT_THAT(text, ContainsRegex("library.* 25 % +1.00 x"));
    EXPECT_THAT(text, ContainsRegex("ours.* 50 % +2.00 x"));
  }
}

TEST(figures, a_column_that_compares_with_no_row_is_an_error) {
  Figures figures("sums", cookbook::rate("GB/s", 1e9));
  figures.add("ours", {1, 1, 1, 1}, 1);
  figures.speedup_over("library");
  EXPECT_THROW(figures.print(passed()), std::logic_error);
}

TEST(figures, rows_measured_in_turns_are_in_the_table) {
  Figures figures("sums", cookbook::cost("ns", 1e-9));
  figures.measure(
      {cookbook::Benchmark("fast", 10, [] { return 1e-8; }), cookbook::Benchmark("slow", 10, [] { return 2e-8; })}, 3);
  const std::string text = printed(figures, passed());
  EXPECT_THAT(text, ContainsRegex("fast +1.00 ns"));
  EXPECT_THAT(text, ContainsRegex("slow +2.00 ns"));
}

TEST(figures, nothing_is_printed_when_a_check_has_failed) {
  Figures figures("sums", cookbook::rate("GB/s", 1e9));
  figures.add("ours", {1, 1, 1, 1}, 1);
  cookbook::Checks failed;
  testing::internal::CaptureStdout();
  failed.equal("one", 1, 2);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(printed(figures, failed), "");
}

TEST(figures, json_gives_a_record_a_row) {
  Figures figures("sums", cookbook::rate("GB/s", 1e9));
  figures.percent_of("limit");
  figures.add("limit", {1, 1, 1, 3}, 1e9);
  figures.add("ours", {2, 2, 2, 3}, 1e9);
  figures.add("too fast", {0, 0, 0, 3}, 1e9);
  cookbook::want_json(true);
  const std::string text = printed(figures, passed());
  cookbook::want_json(false);
  EXPECT_THAT(text, HasSubstr(R"("row": "ours", "unit": "GB/s", "median": 0.5)"));
  EXPECT_THAT(text, HasSubstr(R"("compared": {"of limit": 0.5})"));
  EXPECT_THAT(text, HasSubstr(R"("row": "too fast", "unit": "GB/s", "median": null)"));
}

}  // namespace
