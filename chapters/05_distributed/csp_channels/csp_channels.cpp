// Communicating sequential processes
//
// A counter and a printer are two sequential programs, joined by a channel and by nothing else. A channel keeps no
// value: writer and reader must meet, and whoever comes first waits for the other. The program prints what each of the
// two does, in the order in which it happens. The counter ends by poisoning the channel. The printer never asks whether
// more will come; its next read throws an exception. With two writers that is wrong, as the last lines show.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_channels/csp_channels.cpp common/cookbook/*.cpp -lfmt -lboost_fiber -lboost_context -pthread -o csp_channels
// Run:     csp_channels [--limit N]

#include <numeric>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "process.hpp"

namespace {

using Numbers = std::vector<int>;
using Writer = Channel<int>::Writer;
using Reader = Channel<int>::Reader;

/// Prints what the counter does; what the printer does stands further to the right.
void counter_does(std::string_view what, int i) { cookbook::println("{} {}", what, i); }
void printer_does(std::string_view what, int i) { cookbook::println("{:28}{} {}", "", what, i); }

Numbers count_and_print(int limit) {
  Numbers printed;
  Channel<int> a;
  const auto counter = [&](Writer& to) {
    for (int i = 0; i < limit; ++i) {
      counter_does("writes", i);
      to(i);  // returns when the value has been handed over
      counter_does("goes on after", i);
    }
    to.poison();
    cookbook::println("poisons the channel");
  };
  const auto printer = [&](Reader& from) {
    for (;;) {
      cookbook::println("{:28}reads", "");
      const int i = from();  // waits until the counter writes; in the end it throws Poisoned
      printer_does("has", i);
      printed.push_back(i);
    }
  };
  parallel(process(counter, a.writer()), process(printer, a.reader()));
  return printed;
}

/// Two processes write 10 and 20 numbers to one channel. Returns how many a third one has read.
int read_from_two(bool poison) {
  int received = 0;
  Channel<int> a;
  const auto counter = [poison](int limit) {
    return [=](Writer& to) {
      for (int i = 0; i < limit; ++i) to(i);
      if (poison) to.poison();  // ends the channel for all
      to.retire();              // ends this writer's part
    };
  };
  const auto reader = [&](Reader& from) {
    for (;; ++received) from();  // until the exception Poisoned, or Retired when the last writer has retired
  };
  parallel(process(counter(10), a.writer()), process(counter(20), a.writer()), process(reader, a.reader()));
  return received;
}

}  // namespace

int main(int argc, char** argv) {
  int limit = 2;
  cookbook::Options options("Join sequential processes by channels");
  options.add("limit", limit, "numbers to count", 0, 10'000);
  options.parse(argc, argv);

  cookbook::println("{:28}{}", "counter", "printer");
  const Numbers printed = count_and_print(limit);

  const int poisoned = read_from_two(true), retired = read_from_two(false);
  cookbook::println("two writers, 10 and 20 numbers         read");
  cookbook::println("each poisons the channel at its end  {:6}", poisoned);
  cookbook::println("each retires at its end              {:6}", retired);

  Numbers all(limit);
  std::iota(all.begin(), all.end(), 0);
  cookbook::Checks checks;
  checks.that("the printer has all numbers in order", printed == all);
  checks.equal("numbers read from two writers that retire", retired, 30);
  return checks.exit_code();
}
