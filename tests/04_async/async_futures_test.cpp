// Async futures: the program seen from outside. Catalogue: 4.C6, 4.5, 4.6.

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string first = "first coroutine (sum of N integers) result = ";
const std::string second = "second coroutine (factorial) result = ";

std::vector<std::string> results(const test_support::Result& result) { return result.captures("^(.* result = .*)$"); }

TEST(async_futures, values_for_all_pairs_of_numbers) {
  struct Case {
    std::string sum, factorial, total, product;
  };
  const std::vector<Case> cases = {{"1", "1", "1", "1"},
                                   {"2", "2", "3", "2"},
                                   {"3", "3", "6", "6"},
                                   {"5", "5", "15", "120"},
                                   {"1", "10", "1", "3628800"},
                                   {"0", "0", "0", "1"},
                                   {"1000000", "20", "500000500000", "2432902008176640000"}};
  for (const Case& c : cases) {
    for (const std::string second_ms : {"0", "1"}) {
      const auto result = run("async_futures", {"--sum", c.sum, "--factorial", c.factorial, "--second-ms", second_ms});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(results(result),
                (std::vector<std::string>{first + c.total, second + c.product, second + c.product, first + c.total}));
    }
  }
}

TEST(async_futures, delays_alone_decide_the_order) {
  const std::string one = first + "1", other = second + "3628800";
  const std::map<std::pair<std::string, std::string>, std::vector<std::string>> expected = {
      {{"4", "3"}, {other, one, one, other}},      {{"3", "4"}, {one, other, other, one}},
      {{"0", "1"}, {one, other, other, one}},      {{"1", "0"}, {other, one, one, other}},
      {{"0.5", "0.25"}, {other, one, one, other}}, {{"2", "2"}, {one, other, one, other}},
      {{"0", "0"}, {one, other, one, other}}};
  for (const auto& [delays, lines] : expected) {
    for (const std::string second_ms : {"0", "20"}) {
      const auto result = run("async_futures", {"--sum", "1", "--factorial", "10", "--first-delay", delays.first,
                                                "--second-delay", delays.second, "--second-ms", second_ms});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(results(result), lines) << delays.first << " and " << delays.second << " s\n" << result.text();
      EXPECT_TRUE(result.has_line("ok    seconds until the last: " + std::max(delays.first, delays.second)))
          << result.text();
    }
  }
}

TEST(async_futures, a_factorial_beyond_64_bits_is_refused) {
  const auto result = run("async_futures", {"--factorial", "21"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err.size(), 1U);
  EXPECT_TRUE(result.out.empty());
}

TEST(async_futures, every_change_of_state_is_as_it_must_be) {
  const auto result = run("async_futures", {"--second-ms", "0"});
  for (const std::string line : {
           "reading before it is done: the future has no result yet",
           "callbacks called by set_result itself: 0",
           "called by the loop: [\"seven\"]",
           "setting a result twice: the future is done already",
           "setting an exception then: the future is done already",
           "cancelling it then: false",
           "a callback that is added late hears it too: [\"seven\", \"seven\"]",
           "cancelling a pending one: true",
           "callbacks removed: 2",
           "heard of an exception, a cancellation, nothing: [\"no such file\", \"the future was cancelled\"]",
           "setting the result of a cancelled one: the future is done already",
           "a coroutine waits for the future: true",
           "and goes on with the result: seven",
           "or with the exception: no such file",
           "or with the cancellation: the future was cancelled",
       })
    EXPECT_TRUE(result.has_line("ok    " + line)) << line << "\n" << result.text();
}

TEST(async_futures, ctrl_c_ends_it) {
  const auto result = run("async_futures", {"--second-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2);
  EXPECT_TRUE(results(result).empty());
}

}  // namespace
