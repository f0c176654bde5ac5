// Pitfall: poison with two writers
//
// Two writers share a channel, and each poisons it when it has written its last number. The first to end then ends the
// channel for the other, whose numbers are lost.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_channels/csp_channels_poison.cpp common/cookbook/*.cpp -lfmt -lboost_fiber -lboost_context -pthread -o csp_channels_poison
// Run:     csp_channels_poison
// Symptom: exit 1, prints "FAIL  numbers received"

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "process.hpp"

int main(int argc, char** argv) {
  cookbook::Options options("Two writers that poison one channel: numbers are lost");
  options.parse(argc, argv);

  int received = 0;
  Channel<int> a;
  const auto counter = [](int limit) {
    return [limit](Channel<int>::Writer& out) {
      for (int i = 0; i < limit; ++i) out(i);
      out.poison();
    };
  };
  const auto reader = [&](Channel<int>::Reader& in) {
    for (;; ++received) in();  // until the exception Poisoned
  };
  parallel(process(counter(10), a.writer()), process(counter(20), a.writer()), process(reader, a.reader()));

  cookbook::Checks checks;
  checks.equal("numbers received", received, 30);
  return checks.exit_code();
}
