// Serverless function
//
// What is left of a function's memory between two events? A platform starts its program when an event comes and none
// is free, keeps it for the next ones, and ends it when a call takes too long. An emulator of AWS Lambda calls a
// function of serverless_function_bootstrap.cpp six times; the function counts the calls that succeed. The output shows
// for each event whether the program had to be started (cold) or ran already (warm), how long the call took, and what
// came back.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/serverless_function/serverless_function.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o serverless_function
// Run:     serverless_function [--long-ms N] [--timeout-ms N], with serverless_function_bootstrap in the same folder

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "emulator.hpp"

namespace {

/// Calls the function and prints a line of it.
CallResult call(LambdaEmulator& platform, int milliseconds) {
  const std::string event = fmt::format("{{\"milliseconds\":{}}}", milliseconds);
  const CallResult result = platform.invoke(event);
  std::string answer = result.body;
  if (!result.ok) answer = std::string("error: ") + boost::json::parse(answer).at("errorMessage").as_string().c_str();
  cookbook::println("{:<25}{:<6}{:9.2f} ms  {}", event, result.cold ? "cold" : "warm", result.ms, answer);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  int long_ms = 1'000'000, timeout_ms = 300;
  cookbook::Options options("Run a function of AWS Lambda on this machine");
  options.add("long-ms", long_ms, "milliseconds that the function works in the fifth call", 0, 1'000'000);
  options.add("timeout-ms", timeout_ms, "milliseconds that a call may take", 20, 900'000);
  options.parse(argc, argv);

  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("serverless_function_bootstrap");
  LambdaEmulator platform(program, "lambda_function.count_handler", std::chrono::milliseconds(timeout_ms));

  cookbook::println("{:<25}{:<6}{:>12}  {}", "event", "start", "duration", "result");
  std::vector<int> counts;
  std::vector<bool> cold, ok;
  for (const int milliseconds : {0, 0, -1, 0, long_ms, 0}) {
    const CallResult result = call(platform, milliseconds);
    cold.push_back(result.cold);
    ok.push_back(result.ok);
    if (result.ok) counts.push_back(std::stoi(result.body));
  }

  cookbook::Checks checks;
  checks.equal("counts", counts, {1, 2, 3, 1});
  checks.that("the program is started for the first call, and for the one after the timeout",
              cold == std::vector{true, false, false, false, false, true});
  checks.that("an exception and a timeout are errors of one call",
              ok == std::vector{true, true, false, true, false, true});
  return checks.exit_code();
}
