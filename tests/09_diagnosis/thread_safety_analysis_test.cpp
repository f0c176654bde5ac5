// What the program prints, and what the page says of other uses of the annotations: each compiled by Clang.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "09_diagnosis/run_tool.hpp"
#include "09_diagnosis/thread_safety_analysis/cases.cpp"
#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;

/// What stands in a row of the table.
struct Row {
  std::string function, truth, verdict;
  std::string text() const { return fmt::format("{:<18}{:<6} {}", function, truth, verdict); }
};
const std::vector<Row> rows = {
    {"locked", "right", "-"},
    {"forgotten", "wrong", "writing variable 'balance_' requires holding mutex 'mutex_' exclusively"},
    {"add_without_lock", "wrong", "calling function 'add' requires holding mutex 'mutex_' exclusively"},
    {"early_return", "wrong", "mutex 'mutex_' is not held on every path through here"},
    {"wrong_mutex", "wrong", "writing variable 'balance_' requires holding mutex 'other.mutex_' exclusively"},
    {"locked_twice", "wrong", "cannot call function 'locked_inside' while mutex 'mutex_' is held"},
    {"locked_inside", "right", "-"},
    {"pointer_returned", "wrong", "-"},
    {"through_pointer", "wrong", "-"},
    {"in_opposite_order", "wrong", "-"},
    {"in_a_lambda", "right", "writing variable 'balance_' requires holding mutex 'mutex_' exclusively"},
    {"if_wanted", "right", "mutex 'mutex_' is not held on every path through here"}};

/// Expects the whole table, and that the checks agree with it.
void expect_table(const test_support::Result& result) {
  EXPECT_EQ(result.exit_code, 0) << result.text();
  std::vector<std::string> expected = {"function          truth  Clang says first"};
  for (const Row& row : rows) expected.push_back(row.text());
  EXPECT_EQ((std::vector<std::string>(
                result.out.begin(), std::find_if(result.out.begin(), result.out.end(),
                                                 [](const std::string& line) { return line.starts_with("ok    "); }))),
            expected)
      << result.text();
}

TEST(thread_safety_analysis, each_verdict_names_the_reason) {
  const auto result = run("thread_safety_analysis");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  expect_table(result);
}

/// With a program in the place of Clang that says what Clang says, and more: so there need not be a Clang.
TEST(thread_safety_analysis, of_each_function_the_first_error_in_it_is_shown) {
  const test_support::TemporaryDirectory folder;
  const std::string source = beside(__FILE__, "../../chapters/09_diagnosis/thread_safety_analysis/cases.cpp");
  const std::vector<std::string> lines = lines_of(test_support::text_of(source));
  const auto message = [&](std::size_t line, const std::string& kind, const std::string& text) {
    return fmt::format("{}:{}:5: {}: {}\n    some_code(here);\n    ^\n", source, line, kind, text);
  };
  const std::string option = " [-Werror,-Wthread-safety-analysis]";
  std::string said = message(1, "error", "before the first function" + option);
  for (const Row& row : rows) {
    const auto first = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(row.function + "(") != line.npos && line.ends_with("// " + row.truth);
    });
    ASSERT_NE(first, lines.end()) << row.function;
    const auto inside = static_cast<std::size_t>(first - lines.begin()) + 2;  // the first line has the number 1
    said += message(inside, "note", "mutex acquired here");
    if (row.verdict == "-") continue;
    said += message(inside, "error", row.verdict + option);
    said += message(inside + 1, "error", "a second one" + option);
  }
  std::ofstream(folder.path / "said") << said << "15 errors generated.\n";
  for (const char* name : {"clang++-16", "clang++"}) {
    std::ofstream(folder.path / name) << "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\ncat " << folder.path / "said"
                                      << " >&2\nexit 1\n";
    std::filesystem::permissions(folder.path / name, std::filesystem::perms::owner_all);
  }
  expect_table(run("thread_safety_analysis", {}, {.environment = {{"PATH", folder.path.string() + ":/usr/bin:/bin"}}}));
}

/// What no compiler says: the truth. A function that leaves the mutex locked lets the next one wait for ever.
TEST(thread_safety_analysis, functions_that_are_right_can_be_called_one_after_another) {
  Account account;
  test_support::with_watchdog([&] {
    for (int round = 1; round <= 2; ++round) {
      account.locked(1);
      account.locked_inside(10);
      account.in_a_lambda(100);
      account.if_wanted(true);
      account.if_wanted(false);
      EXPECT_EQ(*account.pointer_returned(), 112 * round);  // nobody else uses the balance
    }
  });
}

/// What no compiler says either: that a Lock locks.
TEST(thread_safety_analysis_lock, lets_one_thread_in_at_a_time) {
  Mutex mutex;
  std::atomic<bool> has_come = false, inside = false;
  std::jthread other;
  {
    const Lock lock(mutex);
    other = std::jthread([&] {
      has_come = true;
      const Lock lock_of_other(mutex);
      inside = true;
    });
    while (!has_come) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(inside);
  }
  test_support::with_watchdog([&] { other.join(); });
  EXPECT_TRUE(inside);
}

TEST(thread_safety_analysis, skips_itself_without_clang) {
  const auto skipped = run("thread_safety_analysis", {}, {.environment = {{"PATH", "/nonexistent"}}});
  EXPECT_EQ(skipped.exit_code, 77) << skipped.text();
  EXPECT_TRUE(skipped.has_line("skipped: clang++ is missing; install clang")) << skipped.text();
}

/// What Clang says of a class with these members, beside a Mutex mutex_ and a guarded int value_.
ToolResult judged(const std::string& members, const std::string& option = "-Wthread-safety") {
  const test_support::TemporaryDirectory folder;
  const std::string source = folder.path / "members.cpp";
  std::ofstream(source) << "#include <condition_variable>\n#include \"annotated_mutex.hpp\"\nclass Example {\n  Mutex "
                           "mutex_;\n  std::mutex plain_;\n"
                        << "  int value_ GUARDED_BY(mutex_) = 0;\n public:\n"
                        << members << "\n};\n";
  const std::string headers = beside(__FILE__, "../../chapters/09_diagnosis/thread_safety_analysis");
  return run_tool({"clang++", "-std=c++20", "-fsyntax-only", "-Werror=thread-safety", "-Wthread-safety", option, "-I",
                   headers, source});
}

TEST(thread_safety_analysis, what_the_page_says_of_other_uses_is_true) {
  if (run_tool({"clang++", "--version"}).exit_code != 0) GTEST_SKIP() << "install clang";
  EXPECT_EQ(judged("void f() { Lock lock(mutex_); ++value_; }").text, "");
  EXPECT_NE(judged("void f() { std::scoped_lock lock(mutex_); ++value_; }").exit_code, 0)
      << "the library's lock classes are not annotated";
  EXPECT_NE(judged("int other_ GUARDED_BY(plain_) = 0;").exit_code, 0) << "std::mutex is not annotated";
  EXPECT_EQ(judged("Example() { ++value_; }").text, "") << "constructors are not checked";
  EXPECT_EQ(judged("void f(Example* p, Example* q) { p->mutex_.lock(); p = q; ++p->value_; p->mutex_.unlock(); }").text,
            "")
      << "a mutex is known by its expression";
  EXPECT_EQ(judged("void f() { Lock lock(mutex_); auto g = [&]() REQUIRES(mutex_) { ++value_; }; g(); }").text, "");
  EXPECT_NE(judged("void f() { auto g = [&]() REQUIRES(mutex_) { ++value_; }; g(); }").exit_code, 0);
  EXPECT_EQ(judged("void g() REQUIRES(mutex_) { ++value_; } void f() { auto h = &Example::g; (this->*h)(); }").text, "")
      << "a call through a pointer is not checked";
  EXPECT_EQ(judged("void f(void (*g)(int&)) { g(value_); }").text, "") << "nor is what such a call gets";
  EXPECT_EQ(judged("template <typename T> void f(T amount) { value_ += amount; }").text, "")
      << "nobody instantiates it";
  EXPECT_EQ(judged("__attribute__((no_thread_safety_analysis)) void f() { ++value_; }").text, "");
  EXPECT_EQ(
      judged("void f(bool shared) { if (shared) { Lock lock(mutex_); ++value_; } else { g(); } } void g() {}").text, "")
      << "two whole branches";
  const std::string order =
      "Mutex last_; Mutex first_ __attribute__((acquired_before(last_))); "
      "void f() { Lock one(last_); Lock two(first_); }";
  EXPECT_EQ(judged(order).text, "") << "without the option the order is not checked";
  EXPECT_NE(judged(order, "-Wthread-safety-beta").text.find("mutex 'first_' must be acquired before 'last_'"),
            std::string::npos);
  EXPECT_EQ(judged("std::condition_variable_any changed_; void f() { Lock lock(mutex_); while (value_ == 0) "
                   "changed_.wait(mutex_); }")
                .text,
            "");
}

TEST(thread_safety_analysis, the_message_on_the_page_is_that_of_clang) {
  const std::string folder = beside(__FILE__, "../../chapters/09_diagnosis/thread_safety_analysis/");
  const auto lines_before = [](const std::string& text) { return text.substr(0, text.find("\n    balance_")); };
  const std::string page = test_support::text_of(folder + "README.md");
  const std::string message = lines_before(page.substr(page.find("\ncases.cpp:") + 1));
  EXPECT_EQ(message.find("cases.cpp:17:5: warning: writing variable"), 0U) << message;
  if (run_tool({"clang++", "--version"}).exit_code != 0) GTEST_SKIP() << "install clang";
  const auto said = run_tool({"clang++", "-std=c++20", "-fsyntax-only", "-Wthread-safety", folder + "cases.cpp"});
  EXPECT_EQ(said.exit_code, 0) << said.text;  // warnings alone
  EXPECT_NE(said.text.find(message), std::string::npos) << said.text;
}

TEST(thread_safety_analysis, the_pitfall_passes_the_analysis_and_its_own_run) {
  const auto pitfall = run("thread_safety_analysis_reference", {}, {.environment = {{"TSAN_OPTIONS", "exitcode=0"}}});
  EXPECT_EQ(pitfall.exit_code, 0) << pitfall.text();
  EXPECT_EQ(pitfall.out, (std::vector<std::string>{"first name: Ada", "2 names"}));
  if (run_tool({"clang++", "--version"}).exit_code != 0) GTEST_SKIP() << "install clang";
  const std::string source =
      beside(__FILE__, "../../chapters/09_diagnosis/thread_safety_analysis/thread_safety_analysis_reference.cpp");
  // Since version 18 there is a warning of its own for references that are returned.
  EXPECT_EQ(run_tool({"clang++", "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Wno-unknown-warning-option",
                      "-Wno-thread-safety-reference-return", source})
                .text,
            "");
}

}  // namespace
