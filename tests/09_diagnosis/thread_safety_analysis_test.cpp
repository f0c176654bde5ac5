// What the program prints, and what the page says of other uses of the annotations: each compiled by Clang.

#include <fstream>

#include "09_diagnosis/run_tool.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(thread_safety_analysis, each_verdict_names_the_reason) {
  const auto result = run("thread_safety_analysis");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const std::string line : {
           "function          is     Clang says first",
           "locked            right  -",
           "forgotten         wrong  writing variable 'balance_' requires holding mutex 'mutex_' exclusively",
           "helper_without    wrong  calling function 'add' requires holding mutex 'mutex_' exclusively",
           "early_return      wrong  mutex 'mutex_' is not held on every path through here",
           "wrong_mutex       wrong  writing variable 'balance_' requires holding mutex 'other.mutex_' exclusively",
           "twice             wrong  cannot call function 'locked_inside' while mutex 'mutex_' is held",
           "locked_inside     right  -",
           "leaked            wrong  -",
           "in_opposite_order wrong  -",
           "in_a_lambda       right  writing variable 'balance_' requires holding mutex 'mutex_' exclusively",
           "if_wanted         right  mutex 'mutex_' is not held on every path through here",
       }) {
    EXPECT_TRUE(result.has_line(line)) << line << "\n" << result.text();
  }
}

TEST(thread_safety_analysis, skips_itself_without_clang) {
  const auto skipped = run("thread_safety_analysis", {}, {.environment = {{"PATH", "/nonexistent"}}});
  EXPECT_EQ(skipped.exit_code, 77) << skipped.text();
  EXPECT_TRUE(skipped.has_line("skipped: clang++ is missing; install clang")) << skipped.text();
}

/// What Clang says of a class with these members, beside a Mutex mutex_ and a guarded int value_.
ToolResult judged(const std::string& members) {
  const test_support::TemporaryDirectory folder;
  const std::string source = folder.path / "members.cpp";
  std::ofstream(source) << "#include \"annotated_mutex.hpp\"\nclass Example {\n  Mutex mutex_;\n  std::mutex plain_;\n"
                        << "  int value_ GUARDED_BY(mutex_) = 0;\n public:\n"
                        << members << "\n};\n";
  const std::string headers = beside(__FILE__, "../../chapters/09_diagnosis/thread_safety_analysis");
  return run_tool(
      {"clang++", "-std=c++20", "-fsyntax-only", "-Werror=thread-safety", "-Wthread-safety", "-I", headers, source});
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
