// The program's output, the emulator with programs that behave badly, and the package.

#include "07_cloud/serverless_function/emulator.hpp"

#include <sys/time.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

const std::string sample = R"({"key1":"value1","key2":"value2","key3":"value3"})";

/// Pieces in a random order, of which few make sense, and here and there a changed byte. A seed always gives the same.
std::string random_text(std::mt19937& random, const std::vector<std::string>& pieces) {
  std::string text;
  for (auto count = 1 + random() % 12; count-- > 0;) text += pieces[random() % pieces.size()];
  for (auto changes = random() % 3; changes-- > 0;) text[random() % text.size()] = static_cast<char>(random());
  return text;
}

/// When an emulator has started this test program as the program of a function, it returns as much as the event asks
/// for, or behaves badly: it asks for an event and reads nothing, or sends a result byte by byte without an end, or a
/// random message after the event has come.
const bool is_the_test = [] {
  const char* const handler = std::getenv("_HANDLER");
  if (handler == nullptr) return true;
  const std::string name = handler, address = std::getenv("AWS_LAMBDA_RUNTIME_API");
  if (name == "large") {  // returns a text that is so many bytes long as JSON, its quotes included
    run_bootstrap({{name, [](const boost::json::object& event) {
                      return boost::json::value(std::string(event.at("bytes").to_number<std::size_t>() - 2, 'x'));
                    }}});
  }
  const std::string root = "/2018-06-01/runtime/invocation/", next = "GET " + root + "next HTTP/1.1\r\nHost: x\r\n\r\n";
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  socket.connect({boost::asio::ip::make_address("127.0.0.1"),
                  static_cast<unsigned short>(std::stoi(address.substr(address.rfind(':') + 1)))});
  boost::system::error_code gone;
  boost::asio::write(socket, boost::asio::buffer(next), gone);
  if (name == "silent") pause();
  char event[4096];
  socket.read_some(boost::asio::buffer(event), gone);
  const std::string post = "POST " + root + "00000000-0000-0000-0000-000000000001/response HTTP/1.1\r\nHost: x\r\n";
  if (name == "endless") {
    boost::asio::write(socket, boost::asio::buffer(post + "Content-Length: 99999\r\n\r\n"), gone);
    for (; !gone; usleep(1'000)) boost::asio::write(socket, boost::asio::buffer("x", 1), gone);
  }
  std::mt19937 random(static_cast<unsigned>(std::stoi(name)));
  boost::asio::write(socket,
                     boost::asio::buffer(random_text(
                         random, {post, post + "Content-Length: 2\r\n\r\n42", next, "Content-Length: ", "5\r\n",
                                  "99999999999999999999\r\n", "\r\n", "\r\n\r\n", "Transfer-Encoding: chunked\r\n",
                                  "fffffff\r\n", "0\r\n\r\n", "\0x", std::string(9'000, 'x')})),
                     gone);
  _exit(0);
}();

LambdaEmulator emulator_of(const std::string& function, std::chrono::milliseconds timeout = 5s) {
  return {test_support::bin() + "/serverless_function_bootstrap", "lambda_function." + function, timeout};
}

TEST(serverless_function, shows_what_each_call_starts_and_what_it_returns) {
  const auto result = run("serverless_function");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::vector<std::string> calls = {
      "\\{\"milliseconds\":0\\} +cold +[0-9.]+ ms  1",
      "\\{\"milliseconds\":0\\} +warm +[0-9.]+ ms  2",
      "\\{\"milliseconds\":-1\\} +warm +[0-9.]+ ms  error: a negative time",
      "\\{\"milliseconds\":0\\} +warm +[0-9.]+ ms  3",
      "\\{\"milliseconds\":1000000\\} +warm +[0-9.]+ ms  error: Task timed out after 0.30 seconds",
      "\\{\"milliseconds\":0\\} +cold +[0-9.]+ ms  1"};
  ASSERT_GE(result.out.size(), calls.size() + 1) << result.text();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_THAT(result.out[i + 1], testing::ContainsRegex("^" + calls[i] + "$"));
  }
  const auto durations = result.captures("^.*:1000000. +warm +([\\d.]+) ms");
  ASSERT_EQ(durations.size(), 1U);
  EXPECT_GE(std::stod(durations[0]), 300);
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(serverless_function, a_call_within_the_limit_ends_nothing) {
  const auto result = run("serverless_function", {"--long-ms", "100"});
  EXPECT_EQ(result.exit_code, 1) << "the checks expect a timeout";
  EXPECT_EQ(result.captures("^.* warm +[\\d.]+ ms  (\\d)$"), (std::vector<std::string>{"2", "3", "4", "5"}))
      << result.text();
}

TEST(serverless_function, leaves_no_program_behind_when_it_is_killed) {
  EXPECT_EQ(run("serverless_function", {"--timeout-ms", "10000"}, {.kill_after_ms = 300}).leaked_processes, 0);
}

TEST(serverless_function_emulator, the_summary_of_a_call_has_its_number_and_its_duration) {
  LambdaEmulator hello = emulator_of("lambda_handler");
  EXPECT_THAT(
      hello.invoke(sample).summary,
      testing::MatchesRegex("REPORT RequestId: 0+-0+-0+-0+-0+1 Duration: [0-9.]+ ms Billed Duration: [0-9]+ ms"));
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

TEST(serverless_function_emulator, the_duration_of_a_call_has_the_start_of_its_program_but_its_limit_does_not) {
  const test_support::TemporaryDirectory folder;
  const std::string program = folder.path / "late";
  std::ofstream(program) << "#!/bin/sh\nsleep 1\nexec " << test_support::bin() << "/serverless_function_bootstrap\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  LambdaEmulator late(program, "lambda_function.lambda_handler", 900ms);
  const CallResult cold = late.invoke(sample);
  EXPECT_TRUE(cold.ok && cold.cold) << cold.body;
  EXPECT_GE(cold.ms, 1'000);
}

TEST(serverless_function_emulator, a_part_of_a_millisecond_is_billed_as_a_whole_one) {
  LambdaEmulator counter = emulator_of("count_handler");
  for (const char* event : {R"({"milliseconds":0})", R"({"milliseconds":0})", R"({"milliseconds":3})"}) {
    const CallResult result = counter.invoke(event);
    EXPECT_THAT(result.summary, testing::EndsWith(fmt::format(" Billed Duration: {:.0f} ms", std::ceil(result.ms))));
  }
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

TEST(serverless_function_emulator, an_answer_of_6_mb_comes_through_and_a_larger_one_has_its_own_message) {
  LambdaEmulator hello = emulator_of("lambda_handler");
  const auto call = [&](std::size_t size) {  // the result has as many bytes
    return hello.invoke("{\"key1\":\"" + std::string(size - 2, 'x') + "\",\"key2\":2,\"key3\":3}");
  };
  EXPECT_TRUE(call(2'000'000).ok);
  EXPECT_TRUE(call(6'000'000).ok);

  LambdaEmulator loud("/proc/self/exe", "large", 5s);
  EXPECT_EQ(loud.invoke(R"({"bytes":6291556})").body.size(), LambdaEmulator::max_result);
  const CallResult large = loud.invoke(R"({"bytes":6291557})");
  EXPECT_FALSE(large.ok);
  EXPECT_EQ(large.body, R"({"errorType":"Function.ResponseSizeTooLarge","errorMessage":"Response payload size )"
                        R"(exceeded maximum allowed payload size (6291556 bytes)."})");
  const CallResult next = loud.invoke(R"({"bytes":10})");
  EXPECT_TRUE(next.ok && !next.cold) << "the program lives on";

  const CallResult refused = call(LambdaEmulator::max_event);
  EXPECT_FALSE(refused.ok || refused.cold);
  EXPECT_NE(refused.body.find("RequestEntityTooLargeException"), std::string::npos) << refused.body;
  EXPECT_TRUE(hello.invoke(sample).ok);
}

TEST(serverless_function_emulator, a_program_that_starts_slowly_is_reported_as_that) {
  const test_support::TemporaryDirectory folder;
  const std::string program = folder.path / "sleeper";
  std::ofstream(program) << "#!/bin/sh\nexec sleep 60\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  LambdaEmulator slow(program, "f.f", 5s, 100ms);
  const CallResult result = slow.invoke(sample);
  EXPECT_EQ(result.body,
            R"({"errorType":"Sandbox.Timedout","errorMessage":"The program did not start within 0.10 seconds"})");
  EXPECT_TRUE(slow.invoke(sample).cold) << "it was killed";
}

TEST(serverless_function_emulator, lives_through_10000_random_events) {
  std::mt19937 random(1);
  LambdaEmulator hello = emulator_of("lambda_handler");
  EXPECT_TRUE(hello.invoke(sample).ok);
  int errors = 0;
  for (int i = 0; i < 10'000 && !HasFailure(); ++i) {
    const std::string event = random_text(random, {sample,
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\"key1\"",
                                                   "\"key2\":",
                                                   ":",
                                                   ",",
                                                   "1",
                                                   "-",
                                                   "1e999",
                                                   "null",
                                                   "\"",
                                                   "\\",
                                                   "\\u00",
                                                   "\xff",
                                                   "true",
                                                   " ",
                                                   "\n",
                                                   std::string(40, '['),
                                                   R"({"key1":1,"key2":2,"key3":3})"});
    const CallResult result = hello.invoke(event);
    EXPECT_FALSE(result.cold) << event;
    EXPECT_TRUE(result.ok || result.body.find("\"errorType\":\"Function.Error\"") != std::string::npos) << event;
    errors += !result.ok;
  }
  EXPECT_GT(errors, 1'000);
  EXPECT_LT(errors, 10'000);
  EXPECT_EQ(hello.invoke(sample).body, "\"value1\"");
}

TEST(serverless_function_emulator, lives_through_programs_that_send_random_messages) {
  for (int seed = 0; seed < 100; ++seed) {
    LambdaEmulator broken("/proc/self/exe", std::to_string(seed), 5s);
    const CallResult result = broken.invoke(sample);
    EXPECT_FALSE(result.body.find("Sandbox.Timedout") != std::string::npos) << seed << ": " << result.body;
    EXPECT_FALSE(broken.invoke(sample).body.find("Sandbox.Timedout") != std::string::npos) << seed;
  }
}

TEST(serverless_function_emulator, a_program_that_does_not_read_its_event_is_ended) {
  LambdaEmulator silent("/proc/self/exe", "silent", 200ms);
  const std::string large = "{\"key1\":\"" + std::string(6'000'000, 'x') + "\"}";  // more than its socket holds
  test_support::with_watchdog(
      [&] { EXPECT_NE(silent.invoke(large).body.find("Task timed out after 0.20 seconds"), std::string::npos); });
}

TEST(serverless_function_emulator, a_program_that_sends_a_byte_now_and_then_is_ended_in_time) {
  LambdaEmulator endless("/proc/self/exe", "endless", 200ms);
  test_support::with_watchdog(
      [&] { EXPECT_NE(endless.invoke("{}").body.find("Task timed out after 0.20 seconds"), std::string::npos); });
}

TEST(serverless_function_emulator, a_call_that_takes_too_long_ends_its_program_and_the_next_one_starts_another) {
  LambdaEmulator slow = emulator_of("count_handler", 100ms);
  EXPECT_TRUE(slow.invoke(R"({"milliseconds":0})").ok);
  const auto start = std::chrono::steady_clock::now();
  const CallResult late = slow.invoke(R"({"milliseconds":60000})");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 100ms);
  EXPECT_FALSE(late.ok);
  EXPECT_EQ(late.body, R"({"errorType":"Sandbox.Timedout","errorMessage":"Task timed out after 0.10 seconds"})");
  const CallResult next = slow.invoke(R"({"milliseconds":0})");
  EXPECT_TRUE(next.ok && next.cold);
}

TEST(serverless_function_emulator, a_signal_that_this_program_handles_does_not_disturb_a_call) {
  const auto usual = std::signal(SIGALRM, [](int) {});
  const itimerval often = {{0, 5'000}, {0, 5'000}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  LambdaEmulator slow = emulator_of("count_handler");
  const CallResult result = slow.invoke(R"({"milliseconds":100})");
  setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, usual);
  EXPECT_TRUE(result.ok) << result.body;
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
  using Environment = std::map<std::string, std::string>;
  for (const Environment& half : {Environment{}, Environment{{"_HANDLER", "a.lambda_handler"}},
                                  Environment{{"AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1"}}}) {
    const auto result = run("serverless_function_bootstrap", {}, {.environment = half});
    EXPECT_EQ(result.exit_code, 3) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("the platform starts this program")) << result.text();
  }
}

TEST(serverless_function_package, has_one_program_that_runs_without_libraries) {
  const test_support::TemporaryDirectory folder;
  const std::string source = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() /
                             "chapters/07_cloud/serverless_function/package.sh";
  const std::string zip = folder.path / "function.zip";
  // To compile it takes ten seconds on a free machine, but only once where there is a compiler cache.
  const bool cache = run("/bin/sh", {"-c", "command -v ccache"}).exit_code == 0;
  const auto made = run(source, {zip}, {.environment = {{"CXX", cache ? "ccache g++" : "g++"}}, .limit = 110s});
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
