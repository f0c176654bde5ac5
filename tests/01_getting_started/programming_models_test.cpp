// Four programming models: their results and their tasks in the process, the program seen from outside.

#include "01_getting_started/programming_models/messages.hpp"

#include <string>

namespace {

thread_local std::string exchange;  // in which order this thread has sent (s) and received (r)

template <typename Value>
void noted_send_values(int socket, const Value* values, std::size_t count) {
  exchange += 's';
  send_values(socket, values, count);
}

template <typename Value>
void noted_receive_values(int socket, Value* values, std::size_t count) {
  exchange += 'r';
  receive_values(socket, values, count);
}

}  // namespace

#define send_values noted_send_values
#define receive_values noted_receive_values
#include "01_getting_started/programming_models/models.hpp"
#undef receive_values
#undef send_values

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "support/most_at_once.hpp"

namespace {

std::size_t most_threads = 0;  // of this process when the library had done its work
Sum last_sum = 0;              // of the library

Sum noted_by_data_parallel(Numbers a, Numbers b) {
  const Sum sum = by_data_parallel(a, b);
  most_threads = std::max(most_threads, test_support::threads_of_this_process());
  last_sum = sum;
  return sum;
}

}  // namespace

#define main main_of_the_program  // to see how many threads there are while it runs
#define by_data_parallel noted_by_data_parallel
#include "01_getting_started/programming_models/programming_models.cpp"
#undef by_data_parallel
#undef main

#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

using Model = Sum (*)(Numbers, Numbers, std::size_t);

struct Rows {
  std::vector<Number> a, b;
};

Rows random_rows(std::size_t size) {
  std::mt19937 random(7);
  Rows rows{std::vector<Number>(size), std::vector<Number>(size)};
  for (Number& number : rows.a) number = static_cast<Number>(random());
  for (Number& number : rows.b) number = static_cast<Number>(random());
  return rows;
}

TEST(programming_models, models_with_tasks_are_right_for_any_size_and_number_of_tasks) {
  for (const std::size_t size : {1U, 2U, 17U, 1'000U, 100'003U}) {
    const Rows rows = random_rows(size);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) expected += std::uint64_t{rows.a[i]} * std::uint64_t{rows.b[i]};
    for (const std::size_t tasks : {1U, 2U, 3U, 16U}) {
      for (const Model model :
           {by_messages, by_messages_sums_only, by_shared_memory, by_shared_memory_once, by_futures}) {
        EXPECT_EQ(model(rows.a, rows.b, tasks), expected) << size << " numbers, " << tasks << " tasks";
      }
    }
  }
}

TEST(programming_models, parts_are_neighbours_and_as_equal_as_can_be) {
  const Rows rows = random_rows(10);
  std::size_t next = 0;
  for (std::size_t task = 0; task < 4; ++task) {
    const Numbers mine = part(rows.a, task, 4);
    EXPECT_EQ(mine.data(), rows.a.data() + next);
    EXPECT_TRUE(mine.size() == 2 || mine.size() == 3) << mine.size();
    next += mine.size();
  }
  EXPECT_EQ(next, 10U);
}

using test_support::threads_of_this_process;

const std::size_t threads_at_start = threads_of_this_process();

/// The children of this process that exist, also those that have ended and for which nobody has waited yet.
std::size_t children_of_this_process() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string line;
    std::ifstream file(entry.path() / "stat");
    if (!std::getline(file, line) || line.rfind(')') == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    std::istringstream(line.substr(line.rfind(')') + 1)) >> state >> parent;
    count += parent == getpid();
  }
  return count;
}

/// The most threads or children that have existed at the same time during a run of the model.
std::size_t most_at_once(std::size_t (*count)(), std::size_t wanted, Model model, std::size_t size) {
  const Rows rows = random_rows(size);
  std::jthread([] {}).join();  // with the first one, ThreadSanitizer starts a thread of its own
  return test_support::most_at_once(count, wanted, [&] { model(rows.a, rows.b, 3); });
}

TEST(programming_models, each_task_of_shared_memory_has_a_thread_at_the_same_time) {
  EXPECT_EQ(most_at_once(threads_of_this_process, 3, by_shared_memory, 200'000), 3U);
  EXPECT_EQ(most_at_once(threads_of_this_process, 3, by_shared_memory_once, 10'000'000), 3U);
}

TEST(programming_models, each_future_has_a_thread_at_the_same_time) {
  EXPECT_EQ(most_at_once(threads_of_this_process, 3, by_futures, 10'000'000), 3U);
}

TEST(programming_models, each_worker_is_a_process) {
  EXPECT_EQ(most_at_once(children_of_this_process, 3, by_messages, 1'000'000), 3U);
  EXPECT_EQ(most_at_once(children_of_this_process, 3, by_messages_sums_only, 1'000'000), 3U);
}

TEST(programming_models, every_worker_has_its_numbers_before_the_parent_waits_for_a_sum) {
  const Rows rows = random_rows(1'000);
  exchange.clear();
  by_messages(rows.a, rows.b, 3);
  EXPECT_EQ(exchange, "ssssssrrr");
  EXPECT_EQ(bytes_moved, 8'024U);
  exchange.clear();
  by_messages_sums_only(rows.a, rows.b, 3);
  EXPECT_EQ(exchange, "rrr");
  EXPECT_EQ(bytes_moved, 24U);
}

// From inside, since threads count that are there in a run: when the program's limit goes, at its end, the library may
// start some in vain. Here it is the first to use the library, which keeps its threads.
TEST(programming_models, the_library_takes_no_more_threads_than_there_are_tasks) {
  std::jthread([] {}).join();  // with the first one, ThreadSanitizer starts a thread of its own
  const std::size_t before = threads_of_this_process();
  std::string name = "programming_models", option = "--tasks", tasks = "1";
  char* arguments[] = {name.data(), option.data(), tasks.data(), nullptr};
  EXPECT_EQ(main_of_the_program(3, arguments), 0);
  EXPECT_EQ(most_threads, before) << "one for a task: the first thread";
}

TEST(programming_models, the_program_multiplies_two_vectors_of_random_numbers) {
  std::string name = "programming_models", numbers = "--numbers", count = "100003", option = "--tasks", tasks = "1";
  char* arguments[] = {name.data(), numbers.data(), count.data(), option.data(), tasks.data(), nullptr};
  EXPECT_EQ(main_of_the_program(5, arguments), 0);  // the sums of all forms are that of the library
  std::mt19937 random(1);
  std::vector<std::uint64_t> a(100'003), b(100'003);
  std::ranges::generate(a, std::ref(random));
  std::ranges::generate(b, std::ref(random));
  EXPECT_EQ(last_sum, std::inner_product(a.begin(), a.end(), b.begin(), std::uint64_t{0}));
}

// After the tests of messages: the library keeps its threads, and fork copies only the one that calls it.
TEST(programming_models, data_parallel_is_right_for_any_size) {
  for (const std::size_t size : {1U, 2U, 17U, 1'000U, 100'003U}) {
    const Rows rows = random_rows(size);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) expected += std::uint64_t{rows.a[i]} * std::uint64_t{rows.b[i]};
    EXPECT_EQ(by_data_parallel(rows.a, rows.b), expected) << size;
  }
}

TEST(programming_models, the_library_takes_further_threads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: the library takes no further thread";
  const Rows rows = random_rows(10'000'000);
  EXPECT_TRUE(test_support::eventually([&] {
    by_data_parallel(rows.a, rows.b);
    return threads_of_this_process() > threads_at_start;  // oneTBB keeps them
  }));
}

TEST(programming_models, a_worker_computes_with_what_it_was_sent) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::jthread worker(work, ends[1], 3);
  const std::vector<Number> a = {1, 2, 0xffffffff}, b = {10, 100, 0xffffffff};
  send_values(ends[0], a.data(), 3);
  send_values(ends[0], b.data(), 3);
  Sum sum = 0;
  receive_values(ends[0], &sum, 1);
  EXPECT_EQ(sum, 210 + Sum{0xffffffff} * 0xffffffff);
  worker.join();
  close(ends[0]);
  close(ends[1]);
}

TEST(programming_models, the_program_shows_what_each_form_exchanges) {
  const auto result = run("programming_models", {"--numbers", "100003", "--tasks", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    runs with a wrong sum: 0")) << result.text();
  const auto exchanged = result.captures("^[a-z, ]+ +[0-9.]+ ms   ([0-9a-z ]+)$");
  const std::vector<std::string> expected = {"nothing",      "100003 locks",       "3 locks", "3 results",
                                             "800048 bytes",  // two rows of 4 bytes each, and three sums of 8 bytes
                                             "24 bytes",     "left to the library"};
  EXPECT_EQ(exchanged, expected) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

// A lock around a task's whole loop gives the right sum, too, but then there is nothing to be seen of its price.
TEST(programming_models_timing, a_lock_for_each_product_costs_much_more_than_one_for_each_task) {
  const auto result = run("programming_models");
  const auto each = result.captures("^shared memory, a lock for each product +([0-9.]+) ms "),
             once = result.captures("^shared memory, a lock for each task +([0-9.]+) ms ");
  ASSERT_TRUE(each.size() == 1 && once.size() == 1) << result.text();
  EXPECT_GT(std::stod(each[0]), 15 * std::stod(once[0])) << result.text();
}

TEST(programming_models_timing, with_a_lock_for_each_task_two_tasks_add_up_at_the_same_time) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: two tasks are not faster than one";
  const auto rows = random_rows(10'000'000);
  const auto shortest = [&](std::size_t tasks) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      const cookbook::Stopwatch watch;
      by_shared_memory_once(rows.a, rows.b, tasks);
      best = std::min(best, watch.seconds());
    }
    return best;
  };
  EXPECT_TRUE(test_support::eventually([&] { return shortest(2) < 0.8 * shortest(1); }));
}

TEST(programming_models_messages, values_larger_than_a_socket_holds_arrive_whole_and_in_order) {
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

TEST(programming_models_messages, a_single_byte_is_a_message_too) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const char sent = 'x';
  char received = '-';
  send_values(ends[0], &sent, 1);
  close(ends[0]);  // or else one would wait for ever for what was not sent
  receive_values(ends[1], &received, 1);
  EXPECT_EQ(received, 'x');
  close(ends[1]);
}

TEST(programming_models_messages, to_send_nothing_needs_nobody_who_receives_it) {
  int ends[2], value = 0;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[1]);  // a worker that has nothing to do may have ended
  send_values(ends[0], &value, 0);
  close(ends[0]);
}

TEST(programming_models_messages, an_end_within_a_message_ends_the_program) {
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
