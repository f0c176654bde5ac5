// Thread performance: the program seen from outside. Catalogue: 2.C9, 2.11 to 2.15.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::run;

const std::vector<std::string> quick = {"--repeats", "1", "--delay-us", "100"};

/// The options of a short run, and more.
std::vector<std::string> with(std::initializer_list<std::string> more) {
  std::vector<std::string> all = quick;
  all.insert(all.end(), more);
  return all;
}

/// The seconds in one column (0: no lock, 1: interpreter lock) of a row of a table, from the row's name.
double seconds(const test_support::Result& result, const std::string& table, const std::string& row, int column) {
  auto line = std::find_if(result.out.begin(), result.out.end(), [&](const auto& l) { return l.starts_with(table); });
  line = std::find_if(line, result.out.end(), [&](const auto& l) { return l.starts_with(row); });
  EXPECT_NE(line, result.out.end()) << table << ": " << row << '\n' << result.text();
  // As the source has it: the name in 23 columns, then seconds with 6 decimals.
  return line == result.out.end() ? 0 : std::stod(line->substr(23 + static_cast<std::size_t>(column) * 19));
}

TEST(thread_performance, eight_rows_a_test_in_the_order_of_the_source) {
  const auto result = run("thread_performance", quick);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  std::vector<std::string> expected;
  for (int test = 0; test < 4; ++test) {
    for (const std::string n : {"1", "2", "4", "8"}) {
      expected.push_back("non_threaded (" + n + " iters)");
      expected.push_back("threaded (" + n + " threads)");
    }
  }
  EXPECT_EQ(result.captures("^(\\w+ \\(\\d \\w+\\)) +\\d\\.\\d{6} seconds +\\d\\.\\d{6} seconds$"), expected);
}

TEST(thread_performance, every_call_and_every_request_is_made) {
  for (const int repeats : {1, 2}) {
    const auto result = run("thread_performance", {"--repeats", std::to_string(repeats), "--delay-us", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    // Both ways, with and without the lock, 1 + 2 + 4 + 8 calls a repeat; ten requests a call.
    EXPECT_TRUE(result.has_line("ok    calls of the empty function: " + std::to_string(60 * repeats)));
    EXPECT_TRUE(result.has_line("ok    pages served: " + std::to_string(600 * repeats)));
  }
}

TEST(thread_performance, waiting_for_the_network_overlaps_even_under_the_lock) {
  const auto result = run("thread_performance", {"--repeats", "1", "--delay-us", "10000"});
  for (const int column : {0, 1}) {
    // Ten requests of 10 ms each, eight times in a row; in threads all at once.
    EXPECT_GE(seconds(result, "web page", "non_threaded (8 iters)", column), 0.8);
    EXPECT_LT(seconds(result, "web page", "threaded (8 threads)", column),
              seconds(result, "web page", "non_threaded (8 iters)", column) / 2);
  }
}

TEST(thread_performance, a_thread_costs_more_than_an_empty_call) {
  const auto result = run("thread_performance", quick);
  for (const std::string n : {"1", "2", "4", "8"}) {
    EXPECT_GT(seconds(result, "empty function", "threaded (" + n + " threads)", 0),
              seconds(result, "empty function", "non_threaded (" + n + " iters)", 0));
  }
}

TEST(thread_performance, the_number_is_right_and_the_same_in_all_threads) {
  const auto result = run("thread_performance", quick);
  EXPECT_TRUE(result.has_line("ok    digits of F(10000): 2090"));
  EXPECT_TRUE(result.has_line("ok    F(10000) modulo 2^64: 15574651946073070043"));
  EXPECT_TRUE(result.has_line("ok    calls that got another number: 0"));
}

TEST(thread_performance, a_short_file_gives_what_it_has) {
  const auto result = run("thread_performance", with({"--file", "/etc/hostname"}));
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(thread_performance, a_missing_file_and_a_refused_connection_are_reported) {
  const auto file = run("thread_performance", with({"--file", "/no/such/file"}));
  EXPECT_EQ(file.exit_code, 3);
  EXPECT_THAT(file.err, testing::ElementsAre("thread_performance: open /no/such/file: No such file or directory"));
  const auto port = run("thread_performance", with({"--port", "1"}));
  EXPECT_EQ(port.exit_code, 3);
  EXPECT_THAT(port.err, testing::ElementsAre("thread_performance: connect to 127.0.0.1:1: Connection refused"));
}

TEST(thread_performance, an_exception_in_a_thread_reaches_the_caller) {
  const auto result = run("thread_performance", quick);
  EXPECT_TRUE(result.has_line("ok    what the caller of failing threads caught: no page today"));
  EXPECT_TRUE(result.has_line("ok    descriptors left open: 0"));
}

TEST(thread_performance, ctrl_c_ends_it) {
  EXPECT_EQ(run("thread_performance", {"--delay-us", "1000000"}, {.interrupt_after_ms = 300}).exit_code, -2);
}

}  // namespace
