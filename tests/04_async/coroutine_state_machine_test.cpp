// Coroutine state machine: the program seen from outside. Catalogue: 4.C4, 4.3.

#include <set>

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string transition = "^(.* calling .* with transition value = [01])$";

/// The recipe without its long parts, on the virtual clock.
test_support::Result run_short(std::vector<std::string> arguments) {
  for (const char* more : {"--second-ms", "0", "--runs", "1000", "--transitions", "1000"}) arguments.push_back(more);
  return run("coroutine_state_machine", arguments);
}

TEST(coroutine_state_machine, the_bits_of_the_sample_give_its_output) {
  for (const std::string second_ms : {"0", "10"}) {
    const auto result =
        run("coroutine_state_machine", {"--second-ms", second_ms, "--runs", "1000", "--transitions", "1000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> expected = {"Finite state machine of Asio coroutines", "Start State called", ""};
    expected.insert(expected.end(), 12, "...Evaluating...");
    for (const char* line :
         {"...Stop Computation...",
          "Resume of the Transition :", "Start State calling State 1 with transition value = 1",
          "State 1 calling State 3 with transition value = 0", "State 3 calling State 1 with transition value = 0",
          "State 1 calling State 2 with transition value = 1", "State 2 calling State 3 with transition value = 1",
          "State 3 calling State 1 with transition value = 0", "State 1 calling State 2 with transition value = 1",
          "State 2 calling State 1 with transition value = 0", "State 1 calling State 3 with transition value = 0",
          "State 3 calling State 1 with transition value = 0", "State 1 calling State 2 with transition value = 1",
          "State 2 calling State 3 with transition value = 1", "State 3 calling End State with transition value = 1"})
      expected.push_back(line);
    ASSERT_GE(result.out.size(), expected.size());
    EXPECT_EQ(std::vector(result.out.begin(), result.out.begin() + static_cast<long>(expected.size())), expected);
  }
}

TEST(coroutine_state_machine, the_two_shortest_paths) {
  EXPECT_EQ(run_short({"--bits", "101"}).captures(transition),
            (std::vector<std::string>{"Start State calling State 1 with transition value = 1",
                                      "State 1 calling State 3 with transition value = 0",
                                      "State 3 calling End State with transition value = 1"}));
  EXPECT_EQ(run_short({"--bits", "011"}).captures(transition),
            (std::vector<std::string>{"Start State calling State 2 with transition value = 0",
                                      "State 2 calling State 3 with transition value = 1",
                                      "State 3 calling End State with transition value = 1"}));
}

TEST(coroutine_state_machine, every_random_path_is_one_of_the_table_and_ends_by_a_one_from_state_3) {
  const std::map<std::string, std::string> table = {
      {"Start State0", "State 2"}, {"Start State1", "State 1"}, {"State 10", "State 3"}, {"State 11", "State 2"},
      {"State 20", "State 1"},     {"State 21", "State 3"},     {"State 30", "State 1"}, {"State 31", "End State"}};
  std::set<std::size_t> lengths;
  for (int seed = 0; seed < 30; ++seed) {
    const auto result = run_short({"--bits", "random", "--seed", std::to_string(seed)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto lines = result.captures(transition);
    ASSERT_GE(lines.size(), 3U);
    std::string here = "Start State";
    for (const std::string& line : lines) {
      EXPECT_EQ(line.find(here + " calling "), 0U) << line << " after " << here;
      const std::string to = table.at(here + line.back());
      EXPECT_EQ(line, here + " calling " + to + " with transition value = " + line.back());
      here = to;
    }
    EXPECT_EQ(here, "End State");
    EXPECT_EQ(lines.back().back(), '1');
    EXPECT_EQ(result.lines_with("^\\.\\.\\.Evaluating\\.\\.\\.$").size(), lines.size() - 1);
    EXPECT_TRUE(result.has_line("ok    transitions: " + std::to_string(lines.size())));
    lengths.insert(lines.size());
  }
  EXPECT_GT(lengths.size(), 3U) << "the seed makes no difference";
}

TEST(coroutine_state_machine, a_script_that_is_no_path_is_refused) {
  for (const std::string bits : {"", "1", "10", "1010", "0110", "1o1", "102", "randomly"}) {
    const auto result = run_short({"--bits", bits});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_NE(result.err[0].find("--bits"), std::string::npos);
    EXPECT_TRUE(result.out.empty());
  }
}

TEST(coroutine_state_machine, averages_are_those_of_fair_bits) {
  for (const int seed : {1, 2, 3}) {
    const auto result =
        run("coroutine_state_machine", {"--second-ms", "0", "--transitions", "3", "--seed", std::to_string(seed)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto mean = result.captures("visits in a random run, on average: (.*)$");
    const auto share = result.captures("share of runs with two visits: (.*)$");
    ASSERT_EQ(mean.size() + share.size(), 2U);
    EXPECT_NEAR(std::stod(mean[0]), 6, 0.1);
    EXPECT_NEAR(std::stod(share[0]), 0.25, 0.01);
  }
}

TEST(coroutine_state_machine, a_path_of_any_length_keeps_one_state_alive_and_no_memory) {
  for (const std::string transitions : {"3", "4", "5", "100000", "10000000"}) {
    const auto result =
        run("coroutine_state_machine", {"--second-ms", "0", "--runs", "1000", "--transitions", transitions});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    transitions of a long run: " + transitions));
    EXPECT_TRUE(result.has_line("ok    states alive at once: 1"));
    EXPECT_TRUE(result.has_line("ok    it took less than 2 MiB of memory: yes"));
  }
}

TEST(coroutine_state_machine, two_machines_share_a_loop) {
  const auto result = run_short({});
  EXPECT_TRUE(result.has_line("ok    two machines take turns: a0 b0 a1 b2 a3 b3")) << result.text();
  EXPECT_TRUE(result.has_line("ok    seconds for both: 3")) << result.text();
}

TEST(coroutine_state_machine, states_that_await_one_another_overflow_the_stack_when_they_are_given_up) {
  const auto result = run("coroutine_state_machine_deep");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto bytes = result.captures("^(\\d+) bytes a transition, kept until the end$");
  ASSERT_EQ(bytes.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(bytes[0]), 50);
  EXPECT_EQ(result.out.back(), "the stack has overflowed");
}

TEST(coroutine_state_machine, ctrl_c_ends_it) {
  const auto result = run("coroutine_state_machine", {"--second-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2);
}

}  // namespace
