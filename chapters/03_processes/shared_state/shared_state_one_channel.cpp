// Pitfall: two processes share one channel
//
// A child made by fork has its parent's sockets as well. Here two processes ask through the same channel at the same
// time: each wants to read the answer to its own request, and gets the answer to the other one's.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/shared_state/shared_state_one_channel.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_state_one_channel
// Run:     shared_state_one_channel
// Symptom: exit 1, prints "got the answer to another's request"

#include "cookbook/print.hpp"
#include "manager.hpp"

int main() {
  const Manager manager(1);
  const ManagedMap map = manager.map(0);
  map.set(1, 1);
  map.set(2, 2);
  const auto ask = [&](long key) {
    for (int i = 0; i < 2'000; ++i) {
      if (map.get(key) != key) return 1;
    }
    return 0;
  };
  const pid_t one = cookbook::start_child([&] { return ask(1); });
  const pid_t two = cookbook::start_child([&] { return ask(2); });
  const int confused = cookbook::exit_code_of(one) + cookbook::exit_code_of(two);
  if (confused > 0) {
    cookbook::println("{} of 2 processes got the answer to another's request", confused);
    return 1;
  }
  cookbook::println("both processes got the answers to their own requests");
}
