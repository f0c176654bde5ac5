// The program's output, the emulator with programs that behave badly, and the package.

#include "07_cloud/serverless_function/emulator.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

const std::string sample = R"({"key1":"value1","key2":"value2","key3":"value3"})";

LambdaEmulator emulator_of(const std::string& function, std::chrono::milliseconds timeout = 5s) {
  return {test_support::bin() + "/serverless_function_bootstrap", "lambda_function." + function, timeout};
}

TEST(serverless_function, shows_result_log_and_summary) {
  const auto result = run("serverless_function", {"--event", R"({"key1":[1],"key2":"b","key3":{}})"});
  EXPECT_TRUE(result.has_line("result: [1]")) << result.text();
  EXPECT_TRUE(result.has_line("key1 = [1]"));
  EXPECT_TRUE(result.has_line("key2 = \"b\""));
  EXPECT_TRUE(result.has_line("key3 = {}"));
  EXPECT_EQ(result.lines_with("^REPORT RequestId: \\S+ Duration: [\\d.]+ ms Billed Duration: \\d+ ms$").size(), 1U);
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(serverless_function, leaves_no_program_behind_when_it_is_killed) {
  EXPECT_EQ(run("serverless_function", {"--timeout-ms", "10000"}, {.kill_after_ms = 300}).leaked_processes, 0);
}

TEST(serverless_function_emulator, the_log_of_a_call_has_its_lines_and_no_others) {
  LambdaEmulator hello = emulator_of("lambda_handler");
  for (const std::string value : {"\"a\"", "\"b\"", "3"}) {
    const CallResult result = hello.invoke(R"({"key1":)" + value + R"(,"key2":2,"key3":null})");
    EXPECT_TRUE(result.ok);
    EXPECT_EQ(result.body, value);
    EXPECT_EQ(result.log, "key1 = " + value + "\nkey2 = 2\nkey3 = null\n");
  }
}

TEST(serverless_function_emulator, only_the_first_call_starts_the_program) {
  LambdaEmulator hello = emulator_of("lambda_handler");
  EXPECT_TRUE(hello.invoke("{}").cold);
  for (int i = 0; i < 100; ++i) {
    const CallResult result = hello.invoke("{\"key1\":" + std::to_string(i) + ",\"key2\":2,\"key3\":3}");
    EXPECT_FALSE(result.cold);
    EXPECT_EQ(result.body, std::to_string(i));
  }
  hello.drop_instance();
  EXPECT_TRUE(hello.invoke("{}").cold);
}

TEST(serverless_function_emulator, an_event_that_the_function_does_not_like_is_an_error_of_this_call_alone) {
  LambdaEmulator hello = emulator_of("lambda_handler");
  EXPECT_TRUE(hello.invoke(sample).ok);
  for (const std::string event : {"{}", R"({"key1":1,"key2":2})", "[1,2]", "no JSON"}) {
    const CallResult result = hello.invoke(event);
    EXPECT_FALSE(result.ok) << event;
    EXPECT_NE(result.body.find("\"errorType\":\"Function.Error\""), std::string::npos) << result.body;
    EXPECT_FALSE(result.cold);
  }
  EXPECT_TRUE(hello.invoke(sample).ok);
}

TEST(serverless_function_emulator, a_large_event_and_a_large_answer_come_through) {
  LambdaEmulator hello = emulator_of("lambda_handler");
  const std::string text = '"' + std::string(900'000, 'x') + '"';
  const CallResult result = hello.invoke("{\"key1\":" + text + ",\"key2\":2,\"key3\":3}");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.body, text);
  EXPECT_EQ(result.log, "key1 = " + text + "\nkey2 = 2\nkey3 = 3\n");
}

TEST(serverless_function_emulator, a_call_that_takes_too_long_ends_its_program_and_the_next_one_starts_another) {
  LambdaEmulator slow = emulator_of("slow_handler", 100ms);
  EXPECT_TRUE(slow.invoke(R"({"milliseconds":0})").ok);
  const auto start = std::chrono::steady_clock::now();
  const CallResult late = slow.invoke(R"({"milliseconds":60000})");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 100ms);
  EXPECT_FALSE(late.ok);
  EXPECT_EQ(late.body, R"({"errorType":"Sandbox.Timedout","errorMessage":"Task timed out after 0.10 seconds"})");
  const CallResult next = slow.invoke(R"({"milliseconds":0})");
  EXPECT_TRUE(next.ok && next.cold);
}

TEST(serverless_function_emulator, programs_that_cannot_serve_are_errors_at_once) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string function : {"no_handler", "", "."}) {
    LambdaEmulator unknown = emulator_of(function);
    EXPECT_NE(unknown.invoke(sample).body.find("Runtime.ExitError"), std::string::npos) << function;
  }
  for (const char* program : {"/bin/false", "/no/such/program"}) {
    LambdaEmulator broken(program, "f.f", 5s);
    const CallResult result = broken.invoke(sample);
    EXPECT_FALSE(result.ok) << program;
    EXPECT_NE(result.body.find("Runtime.ExitError"), std::string::npos) << result.body;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s) << "nobody waited for the timeout";
}

TEST(serverless_function_handler_name, is_cut_at_the_last_dot) {
  EXPECT_EQ(emulator_of("of.a.module.lambda_handler").invoke(sample).body, "\"value1\"");
  EXPECT_FALSE(emulator_of("lambda_handler.other").invoke(sample).ok);
}

TEST(serverless_function_bootstrap, says_that_a_platform_must_start_it) {
  const auto result = run("serverless_function_bootstrap");
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

TEST(serverless_function_package, has_one_program_that_runs_without_libraries) {
  const test_support::TemporaryDirectory folder;
  const std::string source = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() /
                             "chapters/07_cloud/serverless_function/package.sh";
  const std::string zip = folder.path / "function.zip";
  // To compile it takes ten seconds, but only once where there is a compiler cache.
  const bool cache = run("/bin/sh", {"-c", "command -v ccache"}).exit_code == 0;
  const auto made = run(source, {zip}, {.environment = {{"CXX", cache ? "ccache g++" : "g++"}}, .limit = 55s});
  ASSERT_EQ(made.exit_code, 0) << made.text();
  const auto listed = run("/bin/sh", {"-c", "cd " + folder.path.string() +
                                                " && cmake -E tar tf function.zip && cmake -E tar xf function.zip"});
  EXPECT_THAT(listed.out, testing::ElementsAre("bootstrap")) << listed.text();

  LambdaEmulator packed(folder.path / "bootstrap", "lambda_function.lambda_handler", 5s);
  EXPECT_EQ(packed.invoke(sample).body, "\"value1\"");
  const auto libraries = run("/bin/sh", {"-c", "ldd " + (folder.path / "bootstrap").string() + " 2>&1"});
  EXPECT_NE(libraries.text().find("not a dynamic executable"), std::string::npos) << libraries.text();
}

}  // namespace
