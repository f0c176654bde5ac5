// Thread performance
//
// When do threads pay? Four functions are called eight times, one call after another, and then once in each of eight
// threads: an empty function, one that computes, one that reads a file, and one that fetches web pages. The program
// prints how long both took. The empty one loses, since to start a thread takes time; the one that computes gains as
// many times as there are processors; the one that waits for web pages gains on any machine.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_performance/thread_performance.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_performance
// Run:     thread_performance [--calls N]

#include <atomic>
#include <numeric>
#include <set>

#include "calls.hpp"  // one_by_one(), in_threads()
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "jobs.hpp"  // fibonacci(), make_block_file(), read_blocks(), fetch_pages(), PageServer

namespace {

/// Calls the function n times in both ways, prints how long each took, and returns the 2 n results.
template <typename Function>
auto compare(const char* name, int n, Function function) {
  const cookbook::Stopwatch watch;
  auto results = one_by_one(n, function);
  const double serial = watch.seconds();
  const auto more = in_threads(n, function);
  const double threaded = watch.seconds() - serial;
  cookbook::println("{:<24} {:8.3f} ms {:11.3f} ms", name, 1000 * serial, 1000 * threaded);
  results.insert(results.end(), more.begin(), more.end());
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 8;
  cookbook::Options options("Compare calls one after another with calls in threads");
  options.add("calls", n, "calls of each function, and threads", 2, 64);
  options.parse(argc, argv);

  const std::string path = make_block_file();
  PageServer server(std::chrono::milliseconds(1));
  std::atomic<int> empty_calls = 0;

  cookbook::println("{:<21}    one by one  in {:2} threads", fmt::format("{} calls of", n), n);
  compare("an empty function", n, [&] { return ++empty_calls; });
  const auto numbers = compare("F(20000)", n, [] { return fibonacci(20'000); });
  const auto bytes_read = compare("1000 blocks of a file", n, [&] { return read_blocks(path); });
  const auto bytes_fetched = compare("10 web pages", n, [&] { return fetch_pages(server.port()); });

  cookbook::Checks checks;
  checks.equal("calls of the empty function, one by one and in threads", empty_calls.load(), 2 * n);
  checks.equal("different results of F(20000)", std::set(numbers.begin(), numbers.end()).size(), 1U);
  checks.equal("bytes read", std::accumulate(bytes_read.begin(), bytes_read.end(), 0L), 2L * n * 1'024'000);
  checks.equal("bytes fetched", std::accumulate(bytes_fetched.begin(), bytes_fetched.end(), 0L), 2L * n * 10 * 1024);
  checks.equal("pages that the server was asked for", server.requests(), 2 * n * 10);
  checks.within("most pages that were waited for at once", server.most_at_once(), 2, n);
  return checks.exit_code();
}
