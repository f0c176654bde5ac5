// Thread performance
//
// When do threads pay? Four functions are called eight times, one call after another, and then once in each of eight
// threads: an empty function, one that computes, one that reads a file, and one that fetches web pages. The program
// prints how long both took, and how many times as fast the threads were. The empty function loses, since to start a
// thread takes time; the one that computes gains as many times as there are processors, at most; the one that waits for
// web pages gains on any machine.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_performance/thread_performance.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_performance
// Run:     thread_performance [--calls N]

#include <algorithm>

#include "calls.hpp"  // one_by_one(), in_threads()
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "jobs.hpp"  // fibonacci(), make_block_file(), read_blocks(), fetch_pages(), PageServer

namespace {

/// Calls the function n times in both ways, three times, and prints the shortest times and their ratio. Returns how
/// often the calls in threads had other results than those one by one.
template <typename Function>
int compare(const char* name, int n, Function function) {
  double serial = 1e9, threaded = 1e9;
  int different = 0;
  for (int run = 0; run < 3; ++run) {
    const cookbook::Stopwatch watch;
    const auto expected = one_by_one(n, function);
    const double half_time = watch.seconds();
    const auto results = in_threads(n, function);
    threaded = std::min(threaded, watch.seconds() - half_time);
    serial = std::min(serial, half_time);
    different += results != expected;
  }
  cookbook::println("{:<21}{:11.1f} us{:13.1f} us{:9.3g} x", name, 1e6 * serial, 1e6 * threaded, serial / threaded);
  return different;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 8;
  cookbook::Options options("Compare calls one after another with calls in threads");
  options.add("calls", n, "calls of each function, and threads", 2, 64);
  options.parse(argc, argv);

  const std::string path = make_block_file();
  PageServer server(std::chrono::milliseconds(1));  // until it answers a request

  cookbook::println("{:<21}    one by one  in {:2} threads       gain", fmt::format("{} calls of", n), n);
  int different = 0;
  different += compare("an empty function", n, [] { return 0; });
  different += compare("F(20000)", n, [] { return fibonacci(20'000); });
  different += compare("1000 blocks of a file", n, [&] { return read_blocks(path); });
  different += compare("10 web pages", n, [&] { return fetch_pages(server.port()); });

  cookbook::Checks checks;
  checks.equal("results in threads that differ from those one by one", different, 0);
  checks.that("several pages were waited for at the same time", server.most_at_once() > 1);
  return checks.exit_code();
}
