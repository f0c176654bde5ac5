// Serverless function: the program that is uploaded
//
// It has functions and no server. In the package its name is `bootstrap`; the platform starts it when there is an
// event, and ends it when there has been none for a while.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/serverless_function/serverless_function_bootstrap.cpp -lboost_json -pthread -o serverless_function_bootstrap
// Run:     by serverless_function, or by AWS Lambda

#include <chrono>
#include <thread>

#include "bootstrap.hpp"

namespace {

namespace json = boost::json;

/// Works as long as the event says, and counts, in memory, the calls that succeed.
json::value count_handler(const json::object& event) {
  static int calls = 0;
  const int milliseconds = event.at("milliseconds").to_number<int>();
  if (milliseconds < 0) throw std::invalid_argument("a negative time");
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return ++calls;
}

/// For the sample event of AWS: logs its three values and returns the first one.
json::value lambda_handler(const json::object& event) {
  for (const char* key : {"key1", "key2", "key3"}) {
    const json::value* value = event.if_contains(key);
    if (value == nullptr) throw std::out_of_range(std::string("the event has no ") + key);
    log_line(std::string(key) + " = " + serialize(*value));
  }
  return event.at("key1");
}

}  // namespace

int main() {
  try {
    run_bootstrap({{"lambda_handler", lambda_handler}, {"count_handler", count_handler}});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bootstrap: %s\n", error.what());
    return 3;
  }
}
