// The program's output, and the machine from inside.

#include "04_async/coroutine_state_machine/machine.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using test_support::run;

/// What a machine prints, and how many bits it reads, on a clock for which nobody waits.
struct Path {
  std::vector<std::string> transitions;
  long bits = 0;
  double seconds = 0;
};

Path path_of(const std::function<int()>& next_bit) {
  Path path;
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  const auto read = [&] {
    ++path.bits;
    return next_bit();
  };
  const auto print = [&](const std::string& line) { path.transitions.push_back(line); };
  Machine machine{read, print, time};
  asio::co_spawn(loop, run(machine), asio::detached);
  time.run();
  path.seconds = time.now();
  EXPECT_EQ(Alive::now, 0);
  return path;
}

std::function<int()> script(std::string bits) {
  return [bits = std::move(bits), next = std::size_t{0}]() mutable { return bits.at(next++) - '0'; };
}

TEST(coroutine_state_machine_machine, the_bits_of_the_books_sample_give_its_thirteen_transitions) {
  const Path path = path_of(script("1001101000111"));
  EXPECT_EQ(path.transitions,
            (std::vector<std::string>{
                "Start State goes to State 1, bit 1", "State 1 goes to State 3, bit 0",
                "State 3 goes to State 1, bit 0", "State 1 goes to State 2, bit 1", "State 2 goes to State 3, bit 1",
                "State 3 goes to State 1, bit 0", "State 1 goes to State 2, bit 1", "State 2 goes to State 1, bit 0",
                "State 1 goes to State 3, bit 0", "State 3 goes to State 1, bit 0", "State 1 goes to State 2, bit 1",
                "State 2 goes to State 3, bit 1", "State 3 goes to End State, bit 1"}));
  EXPECT_EQ(path.seconds, 13);
}

TEST(coroutine_state_machine_machine, the_two_shortest_paths) {
  EXPECT_EQ(path_of(script("101")).transitions,
            (std::vector<std::string>{"Start State goes to State 1, bit 1", "State 1 goes to State 3, bit 0",
                                      "State 3 goes to End State, bit 1"}));
  EXPECT_EQ(path_of(script("011")).transitions,
            (std::vector<std::string>{"Start State goes to State 2, bit 0", "State 2 goes to State 3, bit 1",
                                      "State 3 goes to End State, bit 1"}));
}

TEST(coroutine_state_machine_machine, every_random_path_is_one_of_the_table) {
  const std::map<std::string, std::string> table = {
      {"Start State0", "State 2"}, {"Start State1", "State 1"}, {"State 10", "State 3"}, {"State 11", "State 2"},
      {"State 20", "State 1"},     {"State 21", "State 3"},     {"State 30", "State 1"}, {"State 31", "End State"}};
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const Path path = path_of([&] { return static_cast<int>(random() >> 31); });
    std::string here = "Start State";
    for (const std::string& line : path.transitions) {
      const std::string to = table.at(here + line.back());
      ASSERT_EQ(line, here + " goes to " + to + ", bit " + line.back());
      here = to;
    }
    EXPECT_EQ(here, "End State");
    EXPECT_EQ(path.transitions.back().back(), '1');
    EXPECT_GE(path.bits, 3);
    EXPECT_EQ(path.bits, std::ssize(path.transitions));
    EXPECT_EQ(path.seconds, static_cast<double>(path.bits));
  }
}

/// With fair bits, the visits to States 1 to 3 have mean 6 and variance 22, and a quarter of the runs has two.
TEST(coroutine_state_machine_machine, averages_are_those_of_fair_bits) {
  std::mt19937 random(7);
  std::map<long, int> runs_with;
  long visits = 0;
  constexpr int runs = 20'000;
  for (int i = 0; i < runs; ++i) {
    const long here = path_of([&] { return static_cast<int>(random() >> 31); }).bits - 1;
    visits += here;
    ++runs_with[here];
  }
  EXPECT_NEAR(1.0 * visits / runs, 6, 0.15);
  const std::map<long, double> share = {{2, 1.0 / 4}, {3, 1.0 / 8}, {4, 1.0 / 8}, {5, 3.0 / 32}, {6, 5.0 / 64}};
  for (const auto& [count, expected] : share) EXPECT_NEAR(1.0 * runs_with[count] / runs, expected, 0.015) << count;
}

TEST(coroutine_state_machine_machine, two_machines_on_one_loop_take_turns) {
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  std::string order;
  const auto note = [&](const std::string& name) { return [&order, name](const std::string&) { order += name; }; };
  Machine a{script("101"), note("a"), time}, b{script("011"), note("b"), time};
  asio::co_spawn(loop, run(a), asio::detached);
  asio::co_spawn(loop, run(b), asio::detached);
  time.run();
  EXPECT_EQ(order, "ababab");
  EXPECT_EQ(time.now(), 3);
}

/// The states that await the next one go by the table, the others by their own code: both are the same machine.
TEST(coroutine_state_machine_machine, the_table_and_the_states_are_the_same_machine) {
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  int bit = 0;
  Machine machine{[&] { return bit; }, [](const std::string&) {}, time};
  asio::awaitable<State> (*const states[])(Machine&) = {start_state, state_1, state_2, state_3};
  for (const State here : {start, one, two, three}) {
    for (bit = 0; bit <= 1; ++bit) {
      std::future<State> next = asio::co_spawn(loop, states[here](machine), asio::use_future);
      loop.restart();
      time.run();
      EXPECT_EQ(next.get(), next_state[here][bit]) << state_names[here] << ", bit " << bit;
    }
  }
}

TEST(coroutine_state_machine_machine, the_bytes_in_use_are_those_of_small_and_of_large_pieces) {
  const std::size_t at_first = bytes_in_use();
  if (at_first == 0) GTEST_SKIP() << "a sanitizer has a malloc() of its own";
  for (const std::size_t size :
       {std::size_t{1'000}, std::size_t{100'000'000}}) {  // the system gives the second by mmap
    const std::size_t before = bytes_in_use();
    const std::vector<char> piece(size);
    EXPECT_GE(bytes_in_use(), before + size);
    EXPECT_LE(bytes_in_use(), before + size + 10'000);
  }
  EXPECT_LE(bytes_in_use(), at_first + 10'000);
}

TEST(coroutine_state_machine, two_machines_take_turns_in_real_time_and_on_the_virtual_clock) {
  for (const std::string second_ms : {"0", "1"}) {
    const auto result = run("coroutine_state_machine", {"--second-ms", second_ms, "--bits", "101", "--laps", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with(" goes to "),
              (std::vector<std::string>{
                  "  1 s  A  Start State goes to State 1, bit 1", "  1 s  B  Start State goes to State 2, bit 0",
                  "  2 s  A  State 1 goes to State 3, bit 0", "  2 s  B  State 2 goes to State 3, bit 1",
                  "  3 s  A  State 3 goes to End State, bit 1", "  3 s  B  State 3 goes to End State, bit 1"}));
    EXPECT_TRUE(result.has_line("ok    seconds until both machines were at their end: 3")) << result.text();
  }
}

TEST(coroutine_state_machine, states_that_await_the_next_one_pile_up_and_those_that_return_it_do_not) {
  for (const int laps : {0, 100, 20'000}) {
    const auto result =
        run("coroutine_state_machine", {"--second-ms", "0", "--bits", "101", "--laps", std::to_string(laps)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    states at the same time, if each returns the next one: [1, 1, 1]"));
    const std::string expected = "[" + std::to_string(2 * (laps / 100) + 4) + ", " +
                                 std::to_string(2 * (laps / 10) + 4) + ", " + std::to_string(2 * laps + 4) + "]";
    EXPECT_TRUE(result.has_line("ok    states at the same time, if each awaits the next one: " + expected))
        << result.text();
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which have a malloc() of their own
  const auto result = run("coroutine_state_machine", {"--second-ms", "0", "--laps", "20000"});
  const auto returning = result.captures("^ +40003 +1 +(\\d+) KiB");
  const auto awaiting = result.captures("^ +40003 .* 40004 +(\\d+) KiB$");
  ASSERT_EQ(returning.size(), 1U) << result.text();
  ASSERT_EQ(awaiting.size(), 1U) << result.text();
  EXPECT_LT(std::stod(returning[0]), 50);
  EXPECT_GT(std::stod(awaiting[0]), 40'000 * 50 / 1024);
#endif
}

/// A state may await the next one as long as the path comes to its end: the coroutines end one after another, not one
/// inside the other.
TEST(coroutine_state_machine, a_long_path_of_states_that_await_the_next_one_comes_to_its_end) {
  const auto result =
      run("coroutine_state_machine", {"--second-ms", "0", "--bits", "101", "--laps", "250000"}, {.limit = 60s});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^ +500003 .* (500004) .*$").size(), 1U) << result.text();
}

TEST(coroutine_state_machine, a_path_may_begin_with_either_bit) {
  const auto result = run("coroutine_state_machine", {"--second-ms", "0", "--bits", "0001", "--laps", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    seconds until both machines were at their end: 4")) << result.text();
}

TEST(coroutine_state_machine, bits_that_are_no_path_are_refused) {
  for (const std::string bits : {"", "1", "0101", "1010", "0111", "1o1", "102"}) {
    const auto result = run("coroutine_state_machine", {"--bits", bits});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_NE(result.err[0].find("--bits"), std::string::npos);
    EXPECT_TRUE(result.out.empty());
  }
}

long peak_memory_kib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(coroutine_state_machine_machine, a_path_of_any_length_keeps_one_state_and_no_memory) {
  for (const int transitions : {3, 5, 300'001}) {
    asio::io_context loop;
    LoopTime time(loop, std::chrono::milliseconds(0));
    long step = 0;  // 1, then to and fro by 1 and 0, then 0 1
    const auto next_bit = [&] {
      const long here = step++;
      return here == transitions - 1 || (here < transitions - 2 && (here == 0 || here % 2 == 1)) ? 1 : 0;
    };
    Machine machine{next_bit, [](const std::string&) {}, time};
    const long before = peak_memory_kib();
    Alive::most = 0;
    asio::co_spawn(loop, run(machine), asio::detached);
    time.run();
    EXPECT_EQ(step, transitions);
    EXPECT_EQ(Alive::most, 1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(peak_memory_kib() - before, 2048);
#else
    (void)before;
#endif
  }
}

TEST(coroutine_state_machine_deep, keeps_memory_for_each_transition_and_overflows_the_stack) {
  const auto result = run("coroutine_state_machine_deep");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto bytes = result.captures("^(\\d+) bytes of memory per transition$");
  ASSERT_EQ(bytes.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(bytes[0]), 50);
  EXPECT_EQ(result.out.back(), "the stack has overflowed");
}

}  // namespace
