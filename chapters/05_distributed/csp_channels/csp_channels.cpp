// Communicating sequential processes
//
// A counter and a printer are two sequential programs, joined by a channel and by nothing else. A channel keeps no
// value: writer and reader must meet, and whoever comes first waits for the other. The counter ends by poisoning the
// channel. The printer never asks whether more will come; its next read throws an exception, which ends it. With
// several writers each one retires instead, and the last one that leaves ends the channel.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_channels/csp_channels.cpp common/cookbook/*.cpp -lfmt -lboost_fiber -lboost_context -pthread -o csp_channels
// Run:     csp_channels [--limit N]

#include <algorithm>
#include <boost/fiber/operations.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "process.hpp"

namespace {

using Numbers = std::vector<int>;
using Writer = Channel<int>::Writer;
using Reader = Channel<int>::Reader;

Numbers count_and_print(int limit) {
  Numbers printed;
  Channel<int> a;
  Writer out = a.writer();
  Reader in = a.reader();
  const auto counter = [&](Writer& to) {
    for (int i = 0; i < limit; ++i) to(i);
    to.poison();
  };
  const auto printer = [&](Reader& from) {
    for (;;) printed.push_back(from());  // until the exception Poisoned
  };
  parallel(process(counter, std::move(out)), process(printer, std::move(in)));
  return printed;
}

/// What a writer and a reader did, in order, if the reader comes late.
std::vector<std::string> write_to_a_late_reader() {
  std::vector<std::string> steps;
  Channel<int> a;
  const auto writer = [&](Writer& to) {
    steps.push_back("writes");
    to(1);
    steps.push_back("has written");
  };
  const auto late_reader = [&](Reader& from) {
    for (int turn = 0; turn < 10; ++turn) boost::this_fiber::yield();  // the writer could go on, if it did not wait
    steps.push_back("reads");
    from();
  };
  parallel(process(writer, a.writer()), process(late_reader, a.reader()));
  return steps;
}

Numbers count_with_two_writers(int limit) {
  Numbers received;
  Channel<int> a;
  const auto counter = [limit](int first) {
    return [=](Writer& to) {
      for (int i = first; i < limit; i += 2) to(i);
      to.retire();
    };
  };
  const auto reader = [&](Reader& from) {
    for (;;) received.push_back(from());  // until the exception Retired
  };
  parallel(process(counter(0), a.writer()), process(counter(1), a.writer()), process(reader, a.reader()));
  std::sort(received.begin(), received.end());
  return received;
}

}  // namespace

int main(int argc, char** argv) {
  int limit = 5;
  cookbook::Options options("Join sequential processes by channels");
  options.add("limit", limit, "numbers to count", 0, 1'000'000);
  options.parse(argc, argv);

  const Numbers printed = count_and_print(limit);
  if (!printed.empty() && limit <= 20) cookbook::println("{}", fmt::join(printed, " "));

  Numbers all(limit);
  std::iota(all.begin(), all.end(), 0);
  cookbook::Checks checks;
  checks.that("the printer has all numbers in order", printed == all);
  checks.equal("a write waits for its reader", write_to_a_late_reader(), {"writes", "reads", "has written"});
  checks.that("two writers: each number has come once", count_with_two_writers(limit) == all);
  return checks.exit_code();
}
