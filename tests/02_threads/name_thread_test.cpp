// Name the current thread: the program seen from outside. Catalogue: 2.2.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::run;
using testing::UnorderedElementsAre;

TEST(name_thread, each_name_starts_once_and_exits_once_and_all_start_before_one_exits) {
  for (const char* delay : {"1", "10", "50"}) {
    const auto result = run("name_thread", {"--delay-ms", delay});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(result.captures("^(\\w+) is starting$"),
                UnorderedElementsAre("first_function", "second_function", "third_function"));
    EXPECT_THAT(result.captures("^(\\w+) is exiting$"),
                UnorderedElementsAre("first_function", "second_function", "third_function"));

    const auto words = result.captures("^\\w+ is (starting|exiting)$");
    EXPECT_TRUE(std::is_sorted(words.rbegin(), words.rend())) << "an exit before a start\n" << result.text();
    EXPECT_TRUE(result.has_line("ok    services that had started when each exited: [3, 3, 3]")) << result.text();
  }
}

TEST(name_thread, three_delays_pass_together) {
  const auto result = run("name_thread", {"--delay-ms", "500"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto took_ms = result.captures("^three services of 500 ms took (\\d+) ms$");
  ASSERT_EQ(took_ms.size(), 1U) << result.text();
  EXPECT_GE(std::stol(took_ms[0]), 500);
  EXPECT_LT(std::stol(took_ms[0]), 1500) << "one after another";
}

TEST(name_thread, the_name_given_is_seen_inside_by_the_maker_and_in_proc) {
  const auto result = run("name_thread");
  for (const char* place : {"seen inside", "seen by their maker", "seen in /proc"}) {
    EXPECT_TRUE(result.has_line(std::string("ok    names ") + place +
                                R"(: ["first_function", "second_function", "third_function"])"))
        << result.text();
  }
}

TEST(name_thread, a_thread_without_a_name_gets_a_unique_default) {
  const auto result = run("name_thread");
  EXPECT_TRUE(result.has_line(R"(ok    names of threads that were given none: ["Thread-1", "Thread-2"])"))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    the system's own name for such a thread: its_maker")) << result.text();
}

TEST(name_thread, fifteen_characters_fit_and_a_sixteenth_is_refused_or_cut) {
  const auto result = run("name_thread");
  EXPECT_TRUE(result.has_line("ok    a name of 16 characters is refused: true")) << result.text();
  const auto after = result.captures("^ok    name of the thread after that: (.*)$");
  const auto cut = result.captures("^ok    name after prctl with 16 characters: (.*)$");
  ASSERT_EQ(after.size() + cut.size(), 2U) << result.text();
  EXPECT_EQ(after[0], "fifteen_letters");
  EXPECT_EQ(cut[0].size(), 15U) << cut[0];
}

}  // namespace
