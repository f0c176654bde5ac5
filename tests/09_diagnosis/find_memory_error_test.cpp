// The lesson picks the right lines out of the reports, and the answers about changed programs are true.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // only a function named main may come to its end without a number
#define main main_of_the_cured_program          // its list is used by more threads here than there
#include "09_diagnosis/find_memory_error/find_memory_error_cured.cpp"
#undef main
#pragma GCC diagnostic pop

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() /
                    "chapters/09_diagnosis/find_memory_error";

std::string source_of(const std::string& program) {
  return test_support::text_of(folder / ("find_memory_error_" + program + ".cpp"));
}

/// A line of a text, counted from 1.
std::string line_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(lines, line);
  return line;
}

/// For programs with AddressSanitizer, whose library refuses to come after another one, such as support/run_probe.cpp.
std::map<std::string, std::string> with_options(const std::string& options) {
  return {{"ASAN_OPTIONS", options}, {"LD_PRELOAD", ""}};
}

#define NEEDS_THE_TOOL()                                                                               \
  if (sanitized || access((test_support::bin() + "/find_memory_error_cured_asan").c_str(), X_OK) != 0) \
  GTEST_SKIP() << "this build has no AddressSanitizer beside programs without one"

TEST(find_memory_error, the_lines_that_it_names_do_what_it_says) {
  NEEDS_THE_TOOL();
  const auto result = run("find_memory_error");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("with AddressSanitizer it stops before it prints: heap-use-after-free, READ of size 4"))
      << result.text();
  const std::string source = source_of("thread");
  for (const auto& [what, text] : {std::pair{"accessed +by T1 in sell", "std::printf(\"price: %d\\n\", prices[100]);"},
                                   {"freed +by T2 in replace", "prices_ = std::move(prices);"},
                                   {"allocated by T0 in new_prices", "auto prices = std::make_unique<Prices>();"}}) {
    const Lines numbers = result.captures("^  " + std::string(what) + " +line (\\d+): ");
    ASSERT_EQ(numbers.size(), 1U) << what << result.text();
    EXPECT_EQ(line_of(source, std::stoi(numbers[0])).find_first_not_of(' '),
              line_of(source, std::stoi(numbers[0])).find(text))
        << what << result.text();
    EXPECT_EQ(test_support::count(result.text(), "line " + numbers[0] + ": " + text), 1) << what << result.text();
  }
}

TEST(find_memory_error, without_a_tool_the_results_are_right) {
  if (sanitized) GTEST_SKIP() << "in this build the programs have a tool";
  for (int i = 0; i < 20; ++i) {
    const auto thread = run("find_memory_error_thread"), coroutine = run("find_memory_error_coroutine");
    EXPECT_EQ(thread.exit_code, 0);
    EXPECT_EQ(thread.out, Lines{"price: 100"});
    EXPECT_EQ(coroutine.exit_code, 0);
    EXPECT_EQ(coroutine.out, Lines{"parcel to London"});
  }
}

TEST(find_memory_error, with_the_tool_every_run_is_ended) {
  NEEDS_THE_TOOL();
  for (int i = 0; i < 5; ++i) {
    for (const std::string program : {"find_memory_error_thread_asan", "find_memory_error_coroutine_asan"}) {
      const auto result = run(program, {}, {.environment = with_options("")});
      EXPECT_EQ(result.exit_code, 1) << result.text();
      EXPECT_THAT(result.text(), testing::HasSubstr("ERROR: AddressSanitizer: heap-use-after-free"));
      EXPECT_TRUE(result.out.empty()) << "ended before it printed anything\n" << result.text();
    }
  }
}

TEST(find_memory_error, the_cured_program_has_no_fault) {
  for (const std::string program : {"find_memory_error_cured", "find_memory_error_cured_asan"}) {
    if (access((test_support::bin() + "/" + program).c_str(), X_OK) != 0) continue;
    for (int i = 0; i < 5; ++i) {
      const auto result = run(program, {}, {.environment = with_options("detect_stack_use_after_return=1")});
      EXPECT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.out, (Lines{"price: 100", "new price: 1100"}));
      EXPECT_TRUE(result.err.empty()) << result.text();
    }
  }
}

TEST(find_memory_error_cured, every_list_ends_once_though_it_is_replaced_while_others_ask_for_it) {
  constexpr int times = sanitized ? 5'000 : 200'000;
  static const Prices same = {};
  std::atomic<int> asked = 0, made = 0, ended = 0;
  const auto another_list = [&] {
    ++made;
    return std::shared_ptr<const Prices>(&same, [&](const Prices*) { ++ended; });
  };
  PriceList list(another_list());
  std::atomic<bool> done = false;
  {
    std::vector<std::jthread> sellers;
    for (int i = 0; i < 2; ++i) {
      sellers.emplace_back([&] {
        for (; !done; ++asked) EXPECT_EQ(list.prices().get(), &same);
      });
    }
    while (asked < 100) std::this_thread::yield();
    while (made < times || asked < times) list.replace(another_list());  // in one time slice nobody else would ask
    EXPECT_GE(made - ended, 1) << "the last one is there";
    done = true;
  }
  list.replace(nullptr);
  EXPECT_EQ(ended, made);
}

TEST(find_memory_error, skips_itself_without_the_programs_with_the_tool) {
  const test_support::TemporaryDirectory alone;
  std::filesystem::copy_file(test_support::bin() + "/find_memory_error", alone.path / "find_memory_error");
  const auto skipped = run(alone.path / "find_memory_error");
  EXPECT_EQ(skipped.exit_code, 77) << skipped.text();
  EXPECT_EQ(skipped.lines_with("^skipped: ").size(), 1U) << skipped.text();
}

TEST(find_memory_error, the_whole_report_has_the_three_stacks) {
  NEEDS_THE_TOOL();
  const auto result = run("find_memory_error", {"--report", "thread"});
  EXPECT_EQ(result.exit_code, 0);
  for (const std::string part : {"READ of size 4 at \\S+ thread T1", "is located 400 bytes inside of 4000-byte region",
                                 "^freed by thread T2 here:", "^previously allocated by thread T0 here:"}) {
    EXPECT_EQ(result.lines_with(part).size(), 1U) << part << "\n" << result.text();
  }
  EXPECT_GT(result.out.size(), 60U);
}

TEST(find_memory_error, the_report_about_the_coroutine_names_the_statement_that_calls_it) {
  NEEDS_THE_TOOL();
  const auto result = run("find_memory_error", {"--report", "coroutine"});
  EXPECT_EQ(result.exit_code, 0);
  for (const std::string part :
       {"READ of size 1 at \\S+ thread T1", "^freed by thread T0", "^previously allocated by thread T0"}) {
    EXPECT_EQ(result.lines_with(part).size(), 1U) << part << "\n" << result.text();
  }
  const Lines numbers = result.captures(" in main .*/find_memory_error_coroutine.cpp:(\\d+)$");
  ASSERT_GE(numbers.size(), 2U) << result.text();
  for (int stack = 0; stack < 2; ++stack) {
    EXPECT_THAT(line_of(source_of("coroutine"), std::stoi(numbers[stack])), testing::HasSubstr("deliver(address_of("));
  }
}

TEST(find_memory_error, options_of_the_environment_do_not_change_the_report) {
  NEEDS_THE_TOOL();
  const auto result = run("find_memory_error", {}, {.environment = {{"ASAN_OPTIONS", "log_path=/nowhere/report"}}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

/// Compiles a program in which each `old` text, which stands there once, is replaced, and runs it; without a tool if
/// `sanitizer` is empty.
test_support::Result run_changed(std::string source, const std::vector<std::pair<std::string, std::string>>& changes,
                                 const std::string& sanitizer = "address") {
  for (const auto& [old, changed] : changes) {
    EXPECT_EQ(test_support::count(source, old), 1) << old;
    source.replace(source.find(old), old.size(), changed);
  }
  test_support::TemporaryDirectory directory;
  std::ofstream(directory.path / "changed.cpp") << source;
  const auto compiled =
      run("/usr/bin/env", {"g++", "-std=c++20", "-O1", "-g", sanitizer.empty() ? "-g" : "-fsanitize=" + sanitizer, "-o",
                           directory.path / "changed", directory.path / "changed.cpp"});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.text();
  return run("/usr/bin/env", {"setarch", "-R", directory.path / "changed"}, {.environment = with_options("")});
}

TEST(find_memory_error_answers, a_reference_leads_to_a_string_that_is_out_of_scope) {
  NEEDS_THE_TOOL();
  const auto result = run_changed(source_of("coroutine"),
                                  {{"deliver(std::string_view address)", "deliver(const std::string& address)"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.text(), testing::HasSubstr("stack-use-after-scope"));
  EXPECT_THAT(result.text(), testing::HasSubstr("is located in stack of thread T0"));
  EXPECT_THAT(result.text(), testing::Not(testing::HasSubstr("freed by")));
}

TEST(find_memory_error_answers, a_coroutine_that_owns_its_text_is_repaired) {
  NEEDS_THE_TOOL();
  const auto result =
      run_changed(source_of("coroutine"), {{"deliver(std::string_view address)", "deliver(std::string address)"}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out, Lines{"parcel to London"});
}

TEST(find_memory_error_answers, a_shared_pointer_does_not_help_if_a_reference_is_returned) {
  NEEDS_THE_TOOL();
  const auto result = run_changed(source_of("thread"),
                                  {{"  std::unique_ptr<Prices> prices_;\n", "  std::shared_ptr<Prices> prices_;\n"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.text(), testing::HasSubstr("heap-use-after-free"));
}

TEST(find_memory_error_answers, a_share_that_is_a_temporary_does_not_help) {
  NEEDS_THE_TOOL();
  const auto result = run_changed(
      source_of("cured"),
      {{"const std::shared_ptr<const Prices> prices = list.prices();", "const Prices& prices = *list.prices();"},
       {"(*prices)[100]", "prices[100]"}},
      "address");
  EXPECT_THAT(result.text(), testing::HasSubstr("heap-use-after-free"));
}

TEST(find_memory_error_answers, the_first_bytes_of_a_freed_block_are_soon_others) {
  if (sanitized) GTEST_SKIP() << "its malloc() is another one";
  const auto result = run_changed(source_of("thread"), {{"prices[100]", "prices[0]"}}, "");
  EXPECT_EQ(result.exit_code, 0);
  ASSERT_EQ(result.out.size(), 1U) << result.text();
  EXPECT_NE(result.out[0], "price: 0");
}

TEST(find_memory_error_answers, who_reads_before_the_list_is_replaced_is_not_reported) {
  NEEDS_THE_TOOL();
  const std::string print = "  std::printf(\"price: %d\\n\", prices[100]);\n",
                    count = "  seller_has_the_list.count_down();\n";
  const auto result = run_changed(source_of("thread"), {{print, ""}, {count, print + count}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out, Lines{"price: 100"});
}

TEST(find_memory_error_answers, thread_sanitizer_sees_it_in_the_first_kilobyte) {
  NEEDS_THE_TOOL();
  const auto result = run_changed(source_of("thread"), {{"prices[100]", "prices[200]"}}, "thread");
  EXPECT_THAT(result.text(), testing::HasSubstr("ThreadSanitizer: heap-use-after-free"));
#if __GNUC__ == 12
  const auto behind = run_changed(source_of("thread"), {{"prices[100]", "prices[300]"}}, "thread");
  EXPECT_EQ(behind.out, Lines{"price: 300"});
  EXPECT_TRUE(behind.err.empty()) << "GCC's ThreadSanitizer sees more than the page says\n" << behind.text();
#endif
}

}  // namespace
