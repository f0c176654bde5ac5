// The program's output.

#include <string>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(map_three_ways, doubles_the_numbers_in_order) {
  const auto result = run("map_three_ways");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out.front(), "2 4 6 8 10 12 14 16 18 20");
  EXPECT_EQ(result.lines_with("^ok .*: yes$").size(), 6U) << result.text();
}

TEST(map_three_ways, an_empty_list_gives_an_empty_list) {
  const auto result = run("map_three_ways", {"--items", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out.front(), "");
}

TEST(map_three_ways, all_ways_agree_whatever_the_length) {
  for (const std::string items : {"1", "2", "1000", "1000000"}) {
    const auto result = run("map_three_ways", {"--items", items});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^ok .*: yes$").size(), 6U) << result.text();
  }
}

}  // namespace
