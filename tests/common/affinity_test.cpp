#include "cookbook/affinity.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace {

int processors_of_this_thread() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

TEST(pin, keeps_a_thread_on_one_processor_until_unpin) {
  std::thread([] {
    ASSERT_EQ(processors_of_this_thread(), cookbook::allowed_processors());
    cookbook::pin(0);
    EXPECT_EQ(processors_of_this_thread(), 1);
    cookbook::unpin();
    EXPECT_EQ(processors_of_this_thread(), cookbook::allowed_processors());
  }).join();
}

TEST(pin, counts_the_allowed_processors_and_begins_again_after_the_last) {
  std::thread([] {
    cookbook::pin(0);
    const int first = sched_getcpu();
    cookbook::pin(cookbook::allowed_processors());
    EXPECT_EQ(sched_getcpu(), first);
    if (cookbook::allowed_processors() > 1) {
      cookbook::pin(1);  // from the processors of the start, not from the one that is left
      EXPECT_NE(sched_getcpu(), first);
    }
  }).join();
}

TEST(pin, ends_the_program_when_the_system_refuses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(cookbook::pin(0, 1 << 30), testing::ExitedWithCode(3), "sched_setaffinity");
}

}  // namespace
