// Process by class: the program seen from outside. Catalogue: 3.6.

#include "support/run.hpp"

namespace {

using test_support::run;
using testing::ElementsAre;

TEST(process_class, processes_are_named_by_class_and_number_and_run_in_order) {
  for (const int count : {1, 5, 12}) {
    const auto result = run("process_class", {"--processes", std::to_string(count), "--work-ms", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> names;
    for (int i = 1; i <= count; ++i) names.push_back("MyProcess-" + std::to_string(i));
    EXPECT_EQ(result.captures("^called run method in process: (.*)$"), names) << result.text();
    EXPECT_TRUE(result.has_line("ok    processes that ended with exit code 0: " + std::to_string(count)));
    EXPECT_TRUE(result.has_line("ok    exit code of Adder-" + std::to_string(count + 1) + ": 0")) << result.text();
    EXPECT_EQ(result.left_behind, 0);
  }
}

TEST(process_class, run_is_in_the_child_when_started_and_in_the_parent_when_called) {
  const auto result = run("process_class", {"--work-ms", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.captures("^ok    (?:called directly, )?run\\(\\) was in the (.*)$"),
              ElementsAre("child's process: true", "parent's process: false", "parent's process: true"));
  EXPECT_TRUE(result.has_line("ok    run() saw the constructor's arguments, their sum: 42")) << result.text();
  EXPECT_TRUE(result.has_line("ok    runs counted by the child, by the parent: [1, 0]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a second start says: Adder-6 has been started already")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a child is left that nobody has joined: false")) << result.text();
}

TEST(process_class, its_end_leaves_no_child_behind) {
  const std::vector<std::string> arguments = {"--work-ms", "60000"};
  const auto interrupted = run("process_class", arguments, {.interrupt_after_ms = 200});
  EXPECT_EQ(interrupted.exit_code, -2) << interrupted.text();
  EXPECT_EQ(interrupted.left_behind, 0);
  const auto killed = run("process_class", arguments, {.kill_after_ms = 200});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.left_behind, 0);
}

TEST(process_class, started_in_the_base_s_constructor_it_never_is_of_the_derived_class) {
  const auto result = run("process_class_in_constructor");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out, ElementsAre("in between, name() is of MyProcess", "the child called run() of Process",
                                      "the destructor called name() of Process"));
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
