// Pitfall: a whole number that is rounded
//
// Integers of Python have no upper limit, and JSON has none either. Boost.JSON reads an integer that does not fit into
// 64 bits as a floating-point number, rounded, and to_number<double>() rounds those that need more than 53 bits. A
// worker that does not look at the type sends a wrong result, without an error. The recipe's worker refuses such a
// message.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/celery_worker/celery_worker_rounded.cpp -lboost_json -o celery_worker_rounded
// Run:     celery_worker_rounded
// Symptom: exit 1, prints "the sum is wrong"

#include <boost/json.hpp>
#include <cstdio>
#include <string>

namespace json = boost::json;

int main() {
  // The body of the message that app.send_task("addTask.add", (2**64 + 1, 0)) posts.
  const std::string body = "[[18446744073709551617, 0], {}, {}]";
  const json::value message = json::parse(body);  // no error
  const json::value& args = message.at(0);

  const double sum = args.at(0).to_number<double>() + args.at(1).to_number<double>();  // wrong: a double has 53 bits
  char text[40];
  std::snprintf(text, sizeof text, "%.0f", sum);
  std::printf("18446744073709551617 + 0 = %s\n", text);
  if (std::string(text) == "18446744073709551617") return 0;
  std::puts("the sum is wrong");
  return 1;
}
