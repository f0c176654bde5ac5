// The program's output, how its messages are received, and the helper that starts threads together.

#include "run_concurrently.hpp"

namespace {

std::atomic<bool> sending = false, receiver_waits = false, received_too_early = false;

/// Notes whether a thread would go on before the sender has begun.
template <typename Condition>
void noted_spin_until(Condition condition) {
  if (!sending && condition()) received_too_early = true;
  receiver_waits = true;
  spin_until(condition);
}

/// In place of run_concurrently(): the sender, task(0), begins when the receiver, task(1), waits.
template <typename Task>
void receiver_first(int, Task task) {
  sending = receiver_waits = received_too_early = false;
  std::jthread receiver([&] {
    task(1);
    if (!sending) received_too_early = true;  // it has not waited at all
    receiver_waits = true;
  });
  while (!receiver_waits) std::this_thread::yield();
  sending = true;
  task(0);
}

}  // namespace

#include "cookbook/checks.hpp"  // first, since they are to have the real std::atomic
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {

using Operations = std::map<std::pair<std::string, std::memory_order>, int>;
std::atomic<Operations*> noted = nullptr;  // how often each operation was done with each order

void note(const char* operation, std::memory_order order) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (noted != nullptr) ++(*noted.load())[{operation, order}];
}

}  // namespace

/// In place of std::atomic in the program.
template <typename T>
struct NotedAtomic : std::atomic<T> {
  using std::atomic<T>::atomic;
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    note("store", order);
    std::atomic<T>::store(value, order);
  }
  T load(std::memory_order order = std::memory_order_seq_cst) const {
    note("load", order);
    return std::atomic<T>::load(order);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    note("fetch_add", order);
    return std::atomic<T>::fetch_add(value, order);
  }
};
namespace std {
template <typename T>
using noted_atomic = NotedAtomic<T>;
}

#define main main_of_the_program  // to call its functions
#define atomic noted_atomic
#define run_concurrently receiver_first
#define spin_until noted_spin_until
#include "02_threads/atomics/atomics.cpp"
#undef atomic
#undef spin_until
#undef run_concurrently
#undef main

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(atomics, holds_for_any_number_of_rounds) {
  for (const int rounds : {1, 2, 1000, 20'000, 20'000, 20'000}) {
    const auto result = run("atomics", {"--rounds", std::to_string(rounds)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    fetch_add, relaxed: additions that were lost: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    release and acquire: messages that arrived incomplete: 0"));
    EXPECT_TRUE(result.has_line("ok    seq_cst: rounds in which both threads got the old value: 0"));
  }
}

// On x86-64 a weaker order for a load shows nowhere.
TEST(atomics, each_operation_has_the_order_that_the_page_names) {
  Operations operations;
  noted = &operations;
  std::string name = "atomics", option = "--rounds", one = "1";
  char* arguments[] = {name.data(), option.data(), one.data(), nullptr};
  EXPECT_EQ(main_of_the_program(3, arguments), 0);
  noted = nullptr;
  using enum std::memory_order;
  EXPECT_GE((operations[{"load", acquire}]), 2 + 3 * 2 + 1) << "waiting looks more than once";
  operations.erase({"load", acquire});
  const Operations expected = {
      {{"fetch_add", relaxed}, 2},          // two threads
      {{"load", relaxed}, 2 + 2},           // in two steps; the flags' first row
      {{"store", relaxed}, 2 + 2},          //
      {{"store", release}, 2 + 3 * 2 + 1},  // the flags' second row; `ready` of each row; a message
      {{"load", seq_cst}, 2},
      {{"store", seq_cst}, 2}};
  EXPECT_EQ(operations, expected);
}

TEST(atomics, a_message_differs_from_what_stands_there_before_it_is_written) {
  for (const Message& message : pass_messages(3)) EXPECT_NE(message, Message{});
}

TEST(atomics, no_message_is_read_before_it_is_written) {
  const std::vector<Message> received = pass_messages(1'000);
  EXPECT_FALSE(received_too_early);
  ASSERT_EQ(received.size(), 1'000U);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(received[i], message_of(i + 1)) << i;
}

// Otherwise one thread may be rounds ahead, and hardly ever do both load while their stores are on the way.
TEST(atomics, no_thread_begins_a_round_before_the_other_one_is_there) {
  EXPECT_EQ((both_got_the_old_value<std::memory_order_seq_cst, std::memory_order_seq_cst>(10)), 0);
  EXPECT_FALSE(received_too_early);
}

#ifndef __SANITIZE_THREAD__  // it keeps the processor from what this test looks for
// A check that finds nothing means something only if the same function can find something.
TEST(atomics, the_weaker_orders_let_both_threads_get_the_old_value) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  bool relaxed = false, release = false, lost = false;
  for (int attempt = 0; attempt < 20 && !(relaxed && release && lost); ++attempt) {
    const auto result = run("atomics");
    const std::string rounds = " +in (\\d+) of 20000 rounds$";
    const auto both_relaxed = result.captures("^relaxed" + rounds);
    const auto both_acquired = result.captures("^release, acquire" + rounds);
    EXPECT_EQ(result.captures("^seq_cst" + rounds), std::vector<std::string>{"0"}) << result.text();
    EXPECT_TRUE(result.has_line("fetch_add          0 of 40000")) << result.text();
    const auto additions = result.captures("^load, then store +(\\d+) of 40000$");
    ASSERT_EQ(additions.size(), 1U) << result.text();
    lost = lost || std::stoi(additions[0]) > 0;
    ASSERT_EQ(both_relaxed.size(), 1U) << result.text();
    ASSERT_EQ(both_acquired.size(), 1U) << result.text();
    for (const int both : {std::stoi(both_relaxed[0]), std::stoi(both_acquired[0])}) {
      EXPECT_LT(both, 20'000) << "each round begins with fresh values, so most have a winner";
    }
    relaxed = relaxed || std::stoi(both_relaxed[0]) > 0;
    release = release || std::stoi(both_acquired[0]) > 0;
#if !defined(__x86_64__)
    release = true;  // ARM's instructions for release and acquire may promise more than the orders do
#endif
  }
  EXPECT_TRUE(relaxed && release && lost) << "never seen in 20 runs: " << relaxed << release << lost;
}
#endif

TEST(atomics_run_concurrently, every_task_runs_once_and_all_at_the_same_time) {
  for (const int threads : {1, 2, 5}) {
    std::barrier all(threads);  // opens only if all the threads are there at once
    std::vector<std::atomic<int>> runs(threads);
    run_concurrently(threads, [&](int number) {
      all.arrive_and_wait();
      ++runs[number];
    });
    EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 1; }));
  }
}

TEST(atomics_run_concurrently, the_time_goes_on_until_the_last_task_has_ended) {
  const double seconds = run_concurrently(
      3, [](int number) { std::this_thread::sleep_for(std::chrono::milliseconds(number == 1 ? 20 : 0)); });
  EXPECT_GE(seconds, 0.02);
}

}  // namespace
