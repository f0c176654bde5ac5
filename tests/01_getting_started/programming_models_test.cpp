// Four programming models: the program seen from outside, its messages from inside. Catalogue: 1.C13 to 1.C17.

#include "01_getting_started/programming_models/messages.hpp"

#include <unistd.h>

#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The dot product of the rows that the program makes, computed here once more.
std::string dot_product(std::size_t size) {
  std::mt19937 random(1);
  std::vector<std::uint64_t> a(size);
  for (std::uint64_t& number : a) number = random();
  std::uint64_t sum = 0;
  for (const std::uint64_t number : a) sum += number * random();
  return std::to_string(sum);
}

TEST(programming_models, all_models_are_right_for_any_number_of_tasks) {
  for (const auto& [size, tasks] : {std::pair(100'003, "1"), {100'003, "3"}, {200'000, "16"}, {1, "8"}, {17, "8"}}) {
    const auto result = run("programming_models", {"--numbers", std::to_string(size), "--tasks", tasks});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.captures("^ok    .*: (\\d+)$"),
              std::vector<std::string>(4, dot_product(static_cast<std::size_t>(size))))
        << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(messages, values_larger_than_a_socket_holds_arrive_whole_and_in_order) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::vector<int> sent(1 << 20), received(sent.size());
  std::iota(sent.begin(), sent.end(), 0);
  std::jthread sender([&] {
    send_values(ends[0], sent.data(), sent.size());
    send_values(ends[0], sent.data(), 0);
    send_values(ends[0], sent.data() + 7, 1);
  });
  receive_values(ends[1], received.data(), received.size());
  EXPECT_EQ(received, sent);
  receive_values(ends[1], received.data(), 0);
  receive_values(ends[1], received.data(), 1);
  EXPECT_EQ(received[0], 7);
  sender.join();
  close(ends[0]);
  close(ends[1]);
}

TEST(messages, an_end_within_a_message_ends_the_program) {
  const auto cut_short = [] {
    int ends[2], value = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::_Exit(1);
    send_values(ends[0], "ab", 2);
    close(ends[0]);
    receive_values(ends[1], &value, 1);
    std::_Exit(0);
  };
  EXPECT_EXIT(cut_short(), testing::ExitedWithCode(3), "before its message was complete");
}

}  // namespace
