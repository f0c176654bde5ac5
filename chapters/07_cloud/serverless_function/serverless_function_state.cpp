// Pitfall: a function that keeps its state in memory
//
// This function counts its visitors in a variable. As long as the same program answers, the count is right. The
// platform ends the program when it wants to: after a while without events, after a timeout, or for an update. The next
// event starts it anew, and the count begins at 0. With two programs at the same time there would be two counts.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/serverless_function/serverless_function_state.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o serverless_function_state
// Run:     serverless_function_state
// Symptom: exit 1, prints "5 visitors, the function says 2"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "emulator.hpp"

int main() {
  if (std::getenv("AWS_LAMBDA_RUNTIME_API") != nullptr) {  // the emulator below has started this same program
    try {
      // run_bootstrap does not return: it serves events until this process is killed
      int visitors = 0;  // wrong: it belongs in a database
      run_bootstrap({{"visit", [&](const boost::json::object&) { return ++visitors; }}});
    } catch (const std::exception&) {
      return 3;  // the emulator does not answer
    }
  }
  LambdaEmulator platform("/proc/self/exe", "site.visit", std::chrono::seconds(5));
  std::string answer;
  for (int visitor = 1; visitor <= 5; ++visitor) {
    answer = platform.invoke("{}").body;
    if (visitor == 3) platform.drop_instance();  // nothing to do for a while
  }
  std::printf("5 visitors, the function says %s\n", answer.c_str());
  return answer == "5" ? 0 : 1;
}
