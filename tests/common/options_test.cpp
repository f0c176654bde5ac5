#include "cookbook/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace {

struct Read {
  int count = 3;
  double factor = 0.5;
  std::string colour = "red";
  std::string word = "none";
  bool loud = false;
};

Read parse(std::vector<std::string> arguments) {
  Read read;
  cookbook::Options options("A test");
  options.add("count", read.count, "how many", 1, 10);
  options.add("factor", read.factor, "how much", 0.25, 4);
  options.add_choice("colour", read.colour, "which", {"red", "green"});
  options.add("word", read.word, "what");
  options.add_flag("loud", read.loud, "how");
  std::vector<char*> argv = {const_cast<char*>("program")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  options.parse(static_cast<int>(argv.size()), argv.data());
  return read;
}

TEST(options, defaults_stay) {
  const Read read = parse({});
  EXPECT_EQ(read.count, 3);
  EXPECT_EQ(read.factor, 0.5);
  EXPECT_EQ(read.colour, "red");
  EXPECT_FALSE(read.loud);
}

TEST(options, values_are_read) {
  const Read read = parse({"--count", "10", "--factor=4", "--colour", "green", "--word", "a b", "--loud"});
  EXPECT_EQ(read.count, 10);
  EXPECT_EQ(read.factor, 4);
  EXPECT_EQ(read.colour, "green");
  EXPECT_EQ(read.word, "a b");
  EXPECT_TRUE(read.loud);
}

TEST(options, the_last_of_two_counts) { EXPECT_EQ(parse({"--count", "4", "--count", "5"}).count, 5); }

struct Wrong {
  std::vector<std::string> arguments;
  std::string message;
};

class refused : public testing::TestWithParam<Wrong> {};

TEST_P(refused, with_exit_code_2_and_one_line) {
  EXPECT_EXIT(parse(GetParam().arguments), testing::ExitedWithCode(2), "^[^\n]*" + GetParam().message + "[^\n]*\n$");
}

INSTANTIATE_TEST_SUITE_P(
    options, refused,
    testing::Values(Wrong{{"--count", "0"}, "--count 0: out of range; allowed: 1 to 10"},
                    Wrong{{"--count", "11"}, "--count 11: out of range"},
                    Wrong{{"--count", "-1"}, "--count -1: out of range"},
                    Wrong{{"--count", "99999999999999999999"}, "--count 99999999999999999999: out of range"},
                    Wrong{{"--count", "ten"}, "--count ten: not a whole number; allowed: 1 to 10"},
                    Wrong{{"--count", "3.5"}, "--count 3.5: not a whole number"},
                    Wrong{{"--count", "3 "}, "--count 3 : not a whole number"},
                    Wrong{{"--count", ""}, "--count : not a whole number"}, Wrong{{"--count"}, "--count"},
                    Wrong{{"--factor", "nan"}, "--factor nan: out of range; allowed: 0.25 to 4"},
                    Wrong{{"--factor", "1e999"}, "--factor 1e999: out of range"},
                    Wrong{{"--factor", "x"}, "--factor x: not a number"},
                    Wrong{{"--colour", "blue"}, "--colour blue: unknown; allowed: red, green"},
                    Wrong{{"--shout"}, "unknown option --shout; allowed: --help, --json, --count"},
                    Wrong{{"stray"}, "unknown option stray"}));

TEST(options, help_ends_with_0) { EXPECT_EXIT(parse({"--help"}), testing::ExitedWithCode(0), ""); }

void throw_system_error() {
  parse({});
  throw std::system_error(EAGAIN, std::generic_category(), "a thread");
}

// In a thread, since GoogleTest would catch it here. (Through noexcept GCC before 14 loses the exception in some
// builds.)
TEST(options, an_uncaught_exception_ends_with_3_and_its_reason) {
  EXPECT_EXIT(std::thread(throw_system_error).join(), testing::ExitedWithCode(3),
              "^[^\n]*a thread: Resource temporarily unavailable\n$");
}

}  // namespace
