// Pitfall: the workers do not see what is set after they have been made
//
// The pool is made, and then the program sets the factor that its tasks use. Each worker is a copy of the program as it
// was before, with a factor of its own, which is still 1.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool/process_pool_late_data.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_late_data
// Run:     process_pool_late_data
// Symptom: exit 1, prints "10 times 7 is 7."

#include "cookbook/print.hpp"
#include "pool.hpp"

namespace {

long factor = 1;

long multiplied(long x) { return factor * x; }

}  // namespace

int main() {
  ProcessPool pool(2);
  factor = 10;  // too late: in this process alone
  const long result = pool.apply(multiplied, 7);
  cookbook::println("{} times 7 is {}.", factor, result);
  return result == 70 ? 0 : 1;
}
