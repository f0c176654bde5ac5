// Pitfall: the first channel of the list always wins
//
// A process reads numbers, of which there is always a next one, and a request to stop. Both channels are ready, and
// select takes the first one of the list that is. That is always the one with the numbers, so nobody reads the request.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_select/csp_select_starved.cpp common/cookbook/*.cpp -lboost_fiber -lboost_context -lfmt -pthread -o csp_select_starved
// Run:     csp_select_starved
// Symptom: exit 1, prints "the request to stop is still unread"

#include "cookbook/print.hpp"
#include "select.hpp"

int main() {
  constexpr long never = 2'000;  // ticks; all is over before
  World world;
  Channel numbers(world), stop(world);
  boost::fibers::fiber writer([&] {
    for (int i = 0; numbers.write(i);) ++i;
  });
  boost::fibers::fiber control([&] { stop.write(1); });
  int read = 0;
  bool stopped = false;
  boost::fibers::fiber reader([&] {
    int first = 0;
    while (!stopped && read < 1'000) {
      const auto [channel, value] = Channel::select(world, {&numbers, &stop}, never, first);
      stopped = channel == 1;
      read += channel == 0;
      world.sleep_until(world.now + 1);  // to handle a value takes a tick; meanwhile the next one is offered
      first = 0;                         // wrong: the next search begins with the same channel
    }
    numbers.close();
    stop.close();
  });
  world.run_until(never);
  for (auto* process : {&writer, &control, &reader}) process->join();
  if (stopped) cookbook::println("stopped after {} numbers", read);
  if (!stopped) cookbook::println("{} numbers were read, and the request to stop is still unread", read);
  return stopped ? 0 : 1;
}
