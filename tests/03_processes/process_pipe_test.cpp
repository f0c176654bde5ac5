// Two chained pipes: the program seen from outside. Catalogue: 3.C2, 3.9.

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

const std::vector<std::string> squares = {"0", "1", "4", "9", "16", "25", "36", "49", "64", "81"};

TEST(process_pipe, prints_the_ten_squares_in_order_and_the_end) {
  const auto result = run("process_pipe", {"--mebibytes", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^(\\d+)$"), squares);
  ASSERT_GE(result.out.size(), 11U);
  EXPECT_EQ(result.out[10], "End");
}

TEST(process_pipe, any_number_of_items_arrives) {
  for (const std::string items : {"0", "1", "511", "512", "100000"}) {
    const auto result = run("process_pipe", {"--items", items, "--mebibytes", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    numbers received: " + items)) << result.text();
  }
  EXPECT_EQ(run("process_pipe", {"--items", "0", "--mebibytes", "1"}).out.front(), "End");
}

TEST(process_pipe, both_children_are_reaped_with_code_0) {
  const auto result = run("process_pipe", {"--mebibytes", "1"});
  EXPECT_TRUE(result.has_line("ok    exit codes of sender and squarer: [0, 0]")) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(process_pipe, an_end_left_open_gives_all_squares_and_no_end) {
  for (const std::string keep : {"numbers", "squares"}) {
    test_support::Result result;
    for (const auto limit : {500ms, 5000ms, 25000ms}) {  // on a busy machine the squares may come late
      result = run("process_pipe_open_end", {"--keep", keep}, {.limit = limit});
      if (!result.timed_out || result.out.size() == squares.size()) break;
    }
    EXPECT_TRUE(result.timed_out) << "it hangs";
    EXPECT_EQ(result.out, squares) << result.text();
  }
}

TEST(process_pipe, ctrl_c_leaves_nothing_behind) {
  const auto result = run("process_pipe", {"--mebibytes", "1024"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
