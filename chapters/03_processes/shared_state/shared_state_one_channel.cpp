// Pitfall: two processes share one channel
//
// A child made by fork has its parent's sockets as well. Here two processes ask through the same channel at the same
// time. Each answer goes to whichever of them reads first. That one discards it if it belongs to the other one's
// request, and the other one waits for it for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/shared_state/shared_state_one_channel.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_state_one_channel
// Run:     shared_state_one_channel, then Ctrl-C
// Symptom: hangs

#include "cookbook/print.hpp"
#include "manager.hpp"

int main() {
  const Manager manager(1);
  const ManagedMap map = manager.map(0);  // wrong: one channel for both processes
  map.set(1, 1);
  map.set(2, 2);
  const auto ask = [&](long key) {
    for (int i = 0; i < 5'000; ++i) {
      if (map.get(key) != key) return 1;
    }
    return 0;
  };
  const pid_t one = cookbook::start_child([&] { return ask(1); });
  const pid_t two = cookbook::start_child([&] { return ask(2); });
  cookbook::println("both processes ask");
  const int confused = cookbook::exit_code_of(one) + cookbook::exit_code_of(two);
  if (confused == 0) cookbook::println("both processes got the answers to their own requests");
  return confused;
}
