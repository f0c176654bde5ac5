// The program's output, its locks, and the forms from inside.

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "support/run.hpp"

namespace noted {

using namespace std;

/// In place of std::mutex: notes whether one is destroyed while it is locked, and whether its owner tries to lock it.
class mutex {
 public:
  static inline std::atomic<int> destroyed = 0, destroyed_while_locked = 0, tries_by_the_owner = 0;

  mutex() = default;
  mutex(const mutex&) = delete;
  ~mutex() {
    ++destroyed;
    destroyed_while_locked += locked_;
  }
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
    locked_ = true;
  }
  bool is_mine() const { return locked_ && owner_ == std::this_thread::get_id(); }
  bool try_lock() {
    if (is_mine()) {  // undefined for a std::mutex
      ++tries_by_the_owner;
      return false;
    }
    if (!mutex_.try_lock()) return false;
    owner_ = std::this_thread::get_id();
    locked_ = true;
    return true;
  }
  void unlock() {
    locked_ = false;
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> locked_ = false;
  std::atomic<std::thread::id> owner_;  // of the thread that has locked it last
};

inline thread_local const mutex* expected_mutex = nullptr;  // that this thread has to hold while it adds

inline int stoi(const std::string& text) {
  EXPECT_TRUE(expected_mutex == nullptr || expected_mutex->is_mine()) << "without the lock: " << text;
  return std::stoi(text);
}

}  // namespace noted

#define std noted
#define main main_of_the_program  // to run it in this process
#include "02_threads/scoped_locking/scoped_locking.cpp"
#undef main
#undef std

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(scoped_locking, only_the_naive_form_leaves_the_lock_taken) {
  const auto result = run("scoped_locking", {}, {.limit = 10s});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto row = [&](const std::string& way) { return result.captures("^" + way + " +(\\w+ +\\w+ +\\w+)$"); };
  EXPECT_EQ(row("its end, with \"7\""), std::vector<std::string>{"free   free     free"}) << result.text();
  EXPECT_EQ(row("a return, with \"\""), std::vector<std::string>{"taken  free     free"}) << result.text();
  EXPECT_EQ(row("an exception, with \"seven\""), std::vector<std::string>{"taken  free     free"}) << result.text();
}

TEST(scoped_locking, no_mutex_is_destroyed_while_it_is_locked_or_tried_by_its_owner) {
  std::string name = "scoped_locking";
  char* arguments[] = {name.data(), nullptr};
  noted::mutex::destroyed = noted::mutex::destroyed_while_locked = noted::mutex::tries_by_the_owner = 0;
  testing::internal::CaptureStdout();
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(noted::mutex::destroyed, 9);  // three ways out of each form
  EXPECT_EQ(noted::mutex::destroyed_while_locked, 0);
  EXPECT_EQ(noted::mutex::tries_by_the_owner, 0);
}

#ifndef __clang__  // for which it is an error
TEST(scoped_locking, parentheses_instead_of_braces_declare_a_variable_that_hides_the_mutex) {
  std::mutex mutex;
  {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-variable"
    std::scoped_lock(mutex);
#pragma GCC diagnostic pop
    static_assert(std::is_same_v<decltype(mutex), std::scoped_lock<>>);
  }
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}
#endif

using Form = void (*)(Total&, const std::string&);
const std::vector<Form> right_forms = {by_hand, scoped};

TEST(scoped_locking_forms, add_the_number_in_the_text_under_the_lock_and_nothing_for_an_empty_one) {
  Total total;
  naive(total, "5");
  EXPECT_NO_THROW(naive(total, ""));  // leaves the mutex locked
  total.mutex.unlock();
  EXPECT_EQ(total.value, 5);
  for (const Form form : right_forms) {
    noted::expected_mutex = &total.mutex;
    form(total, "7");
    form(total, "");
    form(total, "-3");
    noted::expected_mutex = nullptr;
  }
  EXPECT_EQ(total.value, 13);
}

TEST(scoped_locking_forms, lose_no_number_when_threads_use_both) {
  constexpr int additions = 50'000;
  Total total;
  {
    std::vector<std::jthread> threads;
    for (const Form form : right_forms) {
      for (int thread = 0; thread < 2; ++thread) {
        threads.emplace_back([&total, form] {
          for (int i = 0; i < additions; ++i) form(total, i % 7 == 0 ? "" : "1");
        });
      }
    }
  }
  int expected = 0;
  for (int i = 0; i < additions; ++i) expected += i % 7 != 0;
  EXPECT_EQ(total.value, 4 * expected);
}

TEST(scoped_locking_forms, wait_as_long_as_another_thread_holds_the_lock) {
  for (const Form form : right_forms) {
    Total total;
    std::atomic<bool> added = false;
    total.mutex.lock();
    std::jthread other([&] {
      form(total, "1");
      added = true;
    });
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(added);
    EXPECT_EQ(total.value, 0);
    total.mutex.unlock();
    other.join();
    EXPECT_EQ(total.value, 1);
  }
}

TEST(scoped_locking_forms, let_an_exception_through_and_can_be_used_again) {
  for (const Form form : right_forms) {
    Total total;
    EXPECT_THROW(form(total, "seven"), std::invalid_argument);
    EXPECT_THROW(form(total, "99999999999"), std::out_of_range);
    EXPECT_TRUE(total.mutex.try_lock());
    total.mutex.unlock();
    form(total, "");
    EXPECT_TRUE(total.mutex.try_lock());
    total.mutex.unlock();
    form(total, "7");
    EXPECT_EQ(total.value, 7);
  }
}

}  // namespace
