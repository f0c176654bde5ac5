// Process pool
//
// Four worker processes square the numbers from 0 to 99. The numbers go to them in chunks through a queue in shared
// memory, and the results come back in the order of the numbers, whichever worker has computed them. apply and map wait
// for the results; apply_async and map_async return a std::future instead. If a task throws, its caller gets the error.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool/process_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool
// Run:     process_pool [--processes N] [--items N]

#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "pool.hpp"

namespace {

long square(long x) { return x * x; }

long refuse(long x) { throw std::runtime_error(fmt::format("{} is refused", x)); }

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  long items = 100;
  cookbook::Options options("Hand tasks to a pool of processes");
  options.add("processes", processes, "workers", 1, 64);
  options.add("items", items, "numbers to square", 1, 1'000'000);
  options.parse(argc, argv);

  ProcessPool pool(processes);
  std::vector<long> numbers(items), expected;
  std::iota(numbers.begin(), numbers.end(), 0);
  for (const long number : numbers) expected.push_back(square(number));

  const std::vector<long> squares = pool.map(square, numbers);  // waits for all
  const long one = pool.apply(square, 7);                       // waits for one
  std::vector<long> called_back;
  std::future<std::vector<long>> all_later = pool.map_async(square, numbers);  // these two do not wait for results
  std::future<long> one_later = pool.apply_async(square, 8, [&](long result) { called_back.push_back(result); });
  cookbook::println("Pool      : {}, ..., {}", squares.front(), squares.back());

  cookbook::Checks checks;
  checks.that("map gives what a loop gives, in the same order", squares == expected);
  checks.equal("apply", one, 49L);
  checks.equal("apply_async and its callback", std::vector{one_later.get(), called_back.at(0)}, {64L, 64L});
  checks.that("map_async gives the same as map", all_later.get() == expected);
  std::string error;
  try {
    pool.apply(refuse, 7);
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  checks.equal("what the caller of a task that throws gets", error, "7 is refused");
  return checks.exit_code();
}
