// Communicating sequential processes
//
// A counter and a printer are two sequential programs, joined by a channel and by nothing else. A channel keeps no
// value: writer and reader must meet, and whoever comes first waits for the other. Neither asks whether the other is
// still there. First the counter ends, and the printer's next read throws an exception. Then the printer has enough,
// and poisons the channel: the counter's next write throws. The program prints each step when it happens.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_channels/csp_channels.cpp common/cookbook/*.cpp -lfmt -lboost_fiber -lboost_context -pthread -o csp_channels
// Run:     csp_channels [--limit N]

#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "process.hpp"
#include "shown_ends.hpp"

namespace {

using Numbers = std::vector<int>;

void counter(ShownWriter& out, int limit) {
  for (int i = 0; i < limit; ++i) out(i);  // returns when the value has been given to a reader
}

void printer(ShownReader& in, Numbers& printed) {
  for (;;) printed.push_back(in());  // in the end it throws Retired: nobody will write any more
}

void printer_of_one(ShownReader& in, Numbers& printed) {
  printed.push_back(in());
  in.poison();
}

}  // namespace

int main(int argc, char** argv) {
  int limit = 2;
  cookbook::Options options("Join sequential processes by channels");
  options.add("limit", limit, "numbers to count", 0, 10'000);
  options.parse(argc, argv);

  Numbers printed, printed_one;
  const auto count = [limit](ShownWriter& out) { counter(out, limit); };
  const auto print_all = [&](ShownReader& in) { printer(in, printed); };
  cookbook::println("{:20}{}", "counter", "printer");
  Channel<int> a;
  parallel(process(count, ShownWriter{a.writer()}), process(print_all, ShownReader{a.reader()}));

  constexpr int more = 1'000;  // than the printer wants
  const auto count_on = [](ShownWriter& out) { counter(out, more); };
  const auto print_one = [&](ShownReader& in) { printer_of_one(in, printed_one); };
  cookbook::println("counter to {:<9}{}", more, "printer that has enough");
  Channel<int> b;
  parallel(process(count_on, ShownWriter{b.writer()}), process(print_one, ShownReader{b.reader()}));

  Numbers all(limit);
  std::iota(all.begin(), all.end(), 0);
  cookbook::Checks checks;
  checks.that("the first printer has all numbers in order", printed == all);
  checks.equal("the second printer has", printed_one, {0});
  return checks.exit_code();
}
