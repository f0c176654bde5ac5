#include "cookbook/print.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using cookbook::println;

TEST(print, formats_and_ends_the_line) {
  testing::internal::CaptureStdout();
  println("{} + {:.1f}", 1, 2.0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "1 + 2.0\n");
}

TEST(print, threads_do_not_tear_lines) {
  const std::string long_line(300, 'x');
  testing::internal::CaptureStdout();
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) println("{}", long_line);
      });
    }
  }
  std::istringstream output(testing::internal::GetCapturedStdout());
  int lines = 0;
  for (std::string line; std::getline(output, line); ++lines) EXPECT_EQ(line, long_line);
  EXPECT_EQ(lines, 8 * 500);
}

TEST(print, json_silences_lines_and_lets_records_through) {
  testing::internal::CaptureStdout();
  cookbook::print_record("unwanted");
  cookbook::want_json(true);
  println("silent");
  cookbook::print_record("record");
  cookbook::want_json(false);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "record\n");
}

TEST(print, json_strings_are_escaped) { EXPECT_EQ(cookbook::json_string("a\"b\\c\nd"), R"("a\"b\\c\u000ad")"); }

TEST(print, a_full_device_is_refused_by_the_system) {
  EXPECT_EXIT(
      {
        std::FILE* full = std::freopen("/dev/full", "w", stdout);
        if (full != nullptr) println("lost");
      },
      testing::ExitedWithCode(3), "write to standard output: No space left on device");
}

TEST(print, system_refused_names_what_and_why) {
  EXPECT_EXIT(
      {
        errno = EADDRINUSE;
        cookbook::exit_with_errno("bind to port 80");
      },
      testing::ExitedWithCode(3), "^[^\n]*: bind to port 80: Address already in use\n$");
}

}  // namespace
