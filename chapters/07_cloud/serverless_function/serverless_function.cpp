// Serverless function
//
// A platform starts the program of a function when the first event comes, keeps it for the next events, and ends it
// when a call takes too long. The program, serverless_function_bootstrap.cpp, is written for the interface of AWS
// Lambda. Here an emulator of the platform calls it: with a complete event, with an incomplete one, and with one that
// takes too long.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/serverless_function/serverless_function.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o serverless_function
// Run:     serverless_function [--event JSON] [--timeout-ms N], with serverless_function_bootstrap in the same folder

#include <algorithm>
#include <filesystem>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "emulator.hpp"

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

  LambdaEmulator hello(program, "lambda_function.lambda_handler", timeout);
  const CallResult first = hello.invoke(event);
  cookbook::println("result: {}\nlog:\n{}{}", first.body, first.log, first.summary);
  const CallResult second = hello.invoke(event);
  const CallResult incomplete = hello.invoke(R"({"key1":"value1"})");
  cookbook::println("{}", incomplete.body);
  const CallResult last = hello.invoke(event);

  LambdaEmulator slow(program, "lambda_function.slow_handler", timeout);
  const CallResult too_long = slow.invoke(R"({"milliseconds":1000000})");
  cookbook::println("{}", too_long.body);
  const CallResult next = slow.invoke(R"({"milliseconds":0})");

  cookbook::Checks checks;
  checks.equal("result of the first call", first.body, "\"value1\"");
  checks.equal("lines of its log", std::count(first.log.begin(), first.log.end(), '\n'), 3);
  checks.that("the first call is cold, the second one warm", first.cold && !second.cold);
  checks.that("an event without key2 is an error, and the program lives on", !incomplete.ok && !last.cold);
  checks.that("a call that takes too long is an error, and the next one is cold", !too_long.ok && next.cold);
  return checks.exit_code();
}
