/// A machine of five states, each of which is a coroutine.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <functional>
#include <string>

#include "cookbook/print.hpp"
#include "loop_time.hpp"

enum State { start, one, two, three, end };
constexpr std::array state_names = {"Start State", "State 1", "State 2", "State 3", "End State"};

/// What the coroutines of one machine have in common.
struct Machine {
  std::function<int()> next_bit;                  // the input
  std::function<void(const std::string&)> print;  // the output, a line at a time
  LoopTime& time;
  int bit = 0;                   // the last one that was read
  int alive = 0, max_alive = 0;  // coroutines of states that exist now, and that existed at most
};

/// A local variable of each state, which counts the coroutine while it exists.
struct Alive {
  explicit Alive(Machine& m) : machine(m) { machine.max_alive = std::max(machine.max_alive, ++machine.alive); }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --machine.alive; }
  Machine& machine;
};

inline boost::asio::awaitable<State> start_state(Machine& machine) {
  const Alive alive(machine);
  machine.print("Start State called");
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  co_return machine.bit == 0 ? two : one;
}

inline boost::asio::awaitable<State> state_1(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);  // the thread is free for other coroutines meanwhile
  machine.print("...Evaluating...");
  co_return machine.bit == 0 ? three : two;
}

inline boost::asio::awaitable<State> state_2(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  machine.print("...Evaluating...");
  co_return machine.bit == 0 ? one : three;
}

inline boost::asio::awaitable<State> state_3(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  machine.print("...Evaluating...");
  co_return machine.bit == 0 ? one : end;
}

inline boost::asio::awaitable<void> end_state(Machine& machine) {
  const Alive alive(machine);
  machine.print("...Stop Computation...");
  co_return;
}

inline void print_transition(const Machine& machine, State from, State to) {
  machine.print(
      fmt::format("{} calling {} with transition value = {}", state_names[from], state_names[to], machine.bit));
}

/// Awaits one state after another. A state that has returned the next one has ended, and its memory is free again.
inline boost::asio::awaitable<void> run(Machine& machine) {
  constexpr std::array states = {start_state, state_1, state_2, state_3};
  for (State here = start; here != end;) {
    const State next = co_await states[here](machine);
    print_transition(machine, here, next);
    here = next;
  }
  co_await end_state(machine);
}
