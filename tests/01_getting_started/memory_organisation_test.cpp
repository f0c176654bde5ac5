// Memory organisation: the program seen from outside. Catalogue: 1.C7 to 1.C9, 1.C31.

#include "support/files.hpp"
#include "support/run.hpp"

#define main main_of_the_program  // to call its functions
#include "01_getting_started/memory_organisation/memory_organisation.cpp"
#undef main

namespace {

using test_support::run;

TEST(memory_organisation, a_write_is_seen_by_threads_through_mapped_memory_and_by_message) {
  for (const std::string value : {"11", "-7", "10"}) {
    const auto result = run("memory_organisation", {"--value=" + value});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    // Each of the four: what it does, what the other has, what the program has.
    ASSERT_EQ(result.out.size(), 4 * 3 + 1U) << result.text();
    EXPECT_EQ(result.captures("^(a thread|a child process) stores " + value + " in i"),
              (std::vector<std::string>{"a thread", "a child process", "a child process", "a child process"}));
    EXPECT_EQ(result.captures("^  the (thread|child) +i at 0x[0-9a-f]+ is " + value + "$"),
              (std::vector<std::string>{"thread", "child", "child", "child"}))
        << result.text();
    EXPECT_EQ(result.captures("^  (?:main|the parent) +i at 0x[0-9a-f]+ is (.*)$"),
              (std::vector<std::string>{value, "10", value, value}))
        << result.text();
    EXPECT_EQ(result.out.back(), "ok    what main or the parent has after each of the four: [" + value + ", 10, " +
                                     value + ", " + value + "]");
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(memory_organisation, in_each_pair_the_addresses_are_equal) {
  const auto result = run("memory_organisation");
  const auto others = result.captures("^  the (?:thread|child) +i at (0x[0-9a-f]+) is");
  const auto own = result.captures("^  (?:main|the parent) +i at (0x[0-9a-f]+) is");
  EXPECT_EQ(own.size(), 4U) << result.text();
  EXPECT_EQ(others, own) << result.text();
}

// The child is killed because its line would make the file longer than is allowed. The parent does not wait for a
// message.
TEST(memory_organisation, a_child_that_fails_ends_the_program) {
  const test_support::TemporaryDirectory folder;
  const auto run_into = [&](const std::string& file, std::size_t limit) {
    return run("/bin/sh", {"-c", "exec prlimit --fsize=\"$2\" \"$0\" > \"$1\"",
                           test_support::bin() + "/memory_organisation", folder.path / file, std::to_string(limit)});
  };
  ASSERT_EQ(run_into("whole", 10'000).exit_code, 0);
  const std::string text = test_support::text_of(folder.path / "whole");
  for (const std::string way : {"in i:\n", "in i, and sends it as a message:\n"}) {
    const std::string heading = "a child process stores 11 " + way;
    ASSERT_NE(text.find(heading), std::string::npos) << text;
    const auto result = run_into("cut", text.find(heading) + heading.size());
    EXPECT_EQ(result.exit_code, 3) << way << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("a child process has failed"))) << result.text();
    EXPECT_EQ(result.leaked_processes, 0) << way;
  }
}

TEST(memory_organisation, a_child_does_not_do_what_the_parent_has_registered_for_its_end) {
  static int ends[2];
  static const pid_t parent = getpid();
  ASSERT_EQ(pipe(ends), 0);
  std::atexit([] {
    if (getpid() != parent && write(ends[1], "x", 1) != 1) std::abort();
  });
  wait_for(start_child([] {}));
  close(ends[1]);
  char text;
  EXPECT_EQ(read(ends[0], &text, 1), 0);
  close(ends[0]);
}

}  // namespace
