// The program's lines, and named_thread.hpp from inside.

#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>

namespace {

bool refuse_the_name = false;  // whether nobody is told the name of a thread
std::mutex noting;
std::set<std::string> names_asked_for;

int noted_getname(pthread_t thread, char* name, std::size_t size) {
  return refuse_the_name ? ENOENT : pthread_getname_np(thread, name, size);
}

int noted_setname(pthread_t thread, const char* name) {
  const std::scoped_lock lock(noting);
  names_asked_for.insert(name);
  return pthread_setname_np(thread, name);
}

}  // namespace

#define main main_of_the_program  // to see which names it asks for
#define pthread_getname_np noted_getname
#define pthread_setname_np noted_setname
#include "02_threads/name_thread/name_thread.cpp"
#undef pthread_setname_np
#undef pthread_getname_np
#undef main

#include <sys/prctl.h>
#include <time.h>

#include <sstream>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// The name of the calling thread, as other processes can read it.
std::string name_in_proc() {
  std::string name = test_support::text_of("/proc/self/task/" + std::to_string(gettid()) + "/comm");
  return name.substr(0, name.find('\n'));
}

/// The three names in the row that begins with `how`.
std::vector<std::string> row(const test_support::Result& result, const std::string& how) {
  std::vector<std::string> names;
  for (const std::string& line : result.lines_with("^" + how + "  +")) {
    std::istringstream words(line.substr(28));
    for (std::string name; words >> name;) names.push_back(name);
  }
  return names;
}

TEST(name_thread, the_table_has_what_the_system_calls_them) {
  for (const char* work : {"0", "1", "20"}) {
    const auto result = run("name_thread", {"--work-ms", work});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_THAT(row(result, "not at all"), ElementsAre("name_thread", "name_thread", "name_thread")) << result.text();
    EXPECT_THAT(row(result, "start_thread\\(work, name\\)"), ElementsAre("listener", "worker", "logger"))
        << result.text();
    EXPECT_THAT(row(result, "start_thread\\(work\\)"), UnorderedElementsAre("Thread-1", "Thread-2", "Thread-3"))
        << result.text();
    EXPECT_THAT(row(result, "connection_pool_N: refused"), ElementsAre("name_thread", "name_thread", "name_thread"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    threads whose names of 17 characters were refused: 3")) << result.text();
  }
}

TEST(name_thread, the_long_names_have_17_characters_and_are_numbered_from_1) {
  names_asked_for.clear();
  std::string name = "name_thread";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  for (const char* long_name : {"connection_pool_1", "connection_pool_2", "connection_pool_3"}) {
    EXPECT_EQ(names_asked_for.erase(long_name), 1U) << long_name;
  }
  for (const std::string& other : names_asked_for) EXPECT_LE(other.size(), 15U) << other;
}

TEST(name_thread, the_work_takes_as_long_as_was_asked) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("name_thread", {"--work-ms", "100"}).exit_code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(4 * 100));
}

TEST(name_thread, only_the_worker_computes) {
  std::array<double, 3> milliseconds{};  // of a processor, that the three threads have used
  for (int number = 0; number < 3; ++number) {
    std::jthread([&] {
      work_of(number, std::chrono::milliseconds(100));
      timespec used{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
      milliseconds[number] = 1e3 * static_cast<double>(used.tv_sec) + 1e-6 * static_cast<double>(used.tv_nsec);
    }).join();
  }
  EXPECT_GT(milliseconds[1], 5 * milliseconds[0]);
  EXPECT_GT(milliseconds[1], 5 * milliseconds[2]);
}

TEST(name_thread, an_unnamed_thread_is_called_like_the_executable) {
  const test_support::TemporaryDirectory folder;
  std::filesystem::create_symlink(test_support::bin() + "/name_thread", folder.path / "another_name");
  const auto result = run(folder.path / "another_name");
  EXPECT_THAT(row(result, "not at all"), ElementsAre("another_name", "another_name", "another_name")) << result.text();
}

TEST(name_thread_start, up_to_15_characters_are_kept) {
  for (std::size_t length = 1; length <= 15; ++length) {
    const std::string name = std::string("abcdefghijklmno").substr(0, length);
    std::string inside, in_proc;
    start_thread([&] { inside = thread_name(), in_proc = name_in_proc(); }, name).join();
    EXPECT_EQ(inside, name);
    EXPECT_EQ(in_proc, name);
  }
}

TEST(name_thread_start, a_longer_name_is_refused_and_no_thread_is_started) {
  bool started = false;
  EXPECT_THROW(start_thread([&] { started = true; }, "sixteen_letters!"), std::invalid_argument);
  EXPECT_FALSE(started);
  start_thread(
      [] {
        EXPECT_THROW(set_thread_name("sixteen_letters!"), std::system_error);
        EXPECT_EQ(thread_name(), "old_name");
      },
      "old_name")
      .join();
}

TEST(name_thread_start, a_name_that_the_system_does_not_tell_is_an_error) {
  refuse_the_name = true;
  try {
    thread_name();
    ADD_FAILURE() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
  refuse_the_name = false;
}

TEST(name_thread_start, its_maker_can_read_the_name) {
  std::latch started(1), read(1);
  std::jthread thread = start_thread([&] { started.count_down(), read.wait(); }, "worker");
  started.wait();
  char name[16];
  EXPECT_EQ(pthread_getname_np(thread.native_handle(), name, sizeof name), 0);
  read.count_down();
  EXPECT_STREQ(name, "worker");
}

TEST(name_thread_start, names_by_default_are_all_different) {
  constexpr int makers = 4, threads_each = 50;
  std::vector<std::string> names(makers * threads_each);
  {
    std::vector<std::jthread> making;
    std::latch start(makers);
    for (int maker = 0; maker < makers; ++maker) {
      making.emplace_back([&, maker] {
        start.arrive_and_wait();
        for (int i = 0; i < threads_each; ++i) {
          start_thread([&, maker, i] { names[maker * threads_each + i] = thread_name(); }).join();
        }
      });
    }
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::all_of(names.begin(), names.end(), [](const auto& name) { return name.starts_with("Thread-"); }));
}

TEST(name_thread_start, only_a_thread_without_a_name_uses_up_a_number) {
  const auto number = [] {
    std::string name;
    start_thread([&] { name = thread_name(); }).join();
    return std::stoi(name.substr(std::string("Thread-").size()));
  };
  const int before = number();
  start_thread([] {}, "named").join();
  EXPECT_EQ(number(), before + 1);
}

TEST(name_thread_start, without_a_name_of_its_own_a_thread_has_the_name_of_its_maker) {
  std::string name;
  start_thread([&] { std::jthread([&] { name = thread_name(); }).join(); }, "maker").join();
  EXPECT_EQ(name, "maker");
}

TEST(name_thread_start, prctl_cuts_a_long_name_without_an_error) {
  start_thread([] {
    EXPECT_EQ(prctl(PR_SET_NAME, "connection_pool_1"), 0);
    EXPECT_EQ(thread_name(), "connection_pool");
  }).join();
}

}  // namespace
