// Pitfall: every layer repeats
//
// The user's program calls a gateway, which calls a service, which calls a database. Each of the first three repeats a
// call that fails up to three times, which seems modest. The database is down. One request of a user becomes
// 4 x 4 x 4 calls of the database: the attempts multiply.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/retry_budget/retry_budget_layers.cpp -o retry_budget_layers
// Run:     retry_budget_layers
// Symptom: exit 1, prints "64 calls of the database for one request"

#include <cstdio>
#include <functional>

namespace {

int calls = 0;

bool database() {
  ++calls;
  return false;  // it is down
}

/// Calls until it succeeds, at most 1 + `repetitions` times.
bool repeated(int repetitions, const std::function<bool()>& call) {
  for (int i = 0; i <= repetitions; ++i) {
    if (call()) return true;
  }
  return false;
}

bool service() { return repeated(3, database); }  // wrong: its caller repeats as well
bool gateway() { return repeated(3, service); }   // wrong: the same

}  // namespace

int main() {
  const bool answered = repeated(3, gateway);  // the user's program
  std::printf("%d calls of the database for one request, which is %s\n", calls, answered ? "answered" : "not answered");
  return calls <= 4 ? 0 : 1;
}
