// Memory organisation: the program seen from outside. Catalogue: 1.C7 to 1.C9, 1.C31.

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(memory_organisation, a_write_is_seen_by_threads_through_mapped_memory_and_by_message) {
  for (const std::string value : {"11", "-7", "10"}) {
    const auto result = run("memory_organisation", {"--value=" + value});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out, (std::vector<std::string>{
                              "ok    i after a thread has stored to it: " + value, "in the child, i is " + value,
                              "ok    i after a child process has stored to its copy: 10",
                              "ok    i after a child process has stored to mapped memory: " + value,
                              "ok    i after a child process has sent its value: " + value}));
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

}  // namespace
