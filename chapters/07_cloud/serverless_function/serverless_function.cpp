// Serverless function
//
// What happens to a function between two events? A platform starts its program when the first event comes, keeps it for
// the next ones, and ends it when a call takes too long. An emulator of AWS Lambda calls two functions of
// serverless_function_bootstrap.cpp; the output shows for each call whether the program had to be started, how long the
// call took, and what came back. One function counts its calls: the count is lost with the program.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/serverless_function/serverless_function.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o serverless_function
// Run:     serverless_function [--event JSON] [--timeout-ms N], with serverless_function_bootstrap in the same folder

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "emulator.hpp"

namespace {

/// Calls a function and prints a line of it.
CallResult call(LambdaEmulator& platform, const std::string& what, const std::string& event) {
  const CallResult result = platform.invoke(event);
  std::string answer = result.body;
  if (!result.ok) answer = std::string("error: ") + boost::json::parse(answer).at("errorMessage").as_string().c_str();
  cookbook::println("{:<23}{:<16}{:9.2f} ms  {}", what, result.cold ? "started" : "already running", result.ms, answer);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::string event = R"({"key1":"value1","key2":"value2","key3":"value3"})";
  int timeout_ms = 300;
  cookbook::Options options("Run a function of AWS Lambda on this machine");
  options.add("event", event, "the event, in JSON");
  options.add("timeout-ms", timeout_ms, "milliseconds that a call may take", 20, 900'000);
  options.parse(argc, argv);

  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("serverless_function_bootstrap");
  const std::chrono::milliseconds timeout(timeout_ms);

  cookbook::println("{:<23}{:<16}{:>12}  {}", "call", "program", "duration", "result");
  LambdaEmulator hello(program, "lambda_function.lambda_handler", timeout);
  const CallResult first = call(hello, "the first", event);
  const CallResult incomplete = call(hello, "an event without key2", R"({"key1":"value1"})");
  const CallResult second = call(hello, "a complete one again", event);
  LambdaEmulator counter(program, "lambda_function.count_handler", timeout);
  const std::string at_once = R"({"milliseconds":0})";
  std::vector<std::string> counts = {call(counter, "a counter", at_once).body,
                                     call(counter, "the counter", at_once).body};
  const CallResult too_long = call(counter, "the counter, 1000 s", R"({"milliseconds":1000000})");
  const CallResult next = call(counter, "the counter", at_once);
  counts.push_back(next.body);
  cookbook::println("log and summary of the first call:\n{}{}", first.log, first.summary);

  cookbook::Checks checks;
  checks.equal("lines of its log", std::count(first.log.begin(), first.log.end(), '\n'), 3);
  checks.that("an event without key2 is an error, and the program goes on", !incomplete.ok && !second.cold);
  checks.that("a call that takes too long is an error, and the next one is cold", !too_long.ok && next.cold);
  checks.equal("the counter says", counts, {"1", "2", "1"});
  return checks.exit_code();
}
