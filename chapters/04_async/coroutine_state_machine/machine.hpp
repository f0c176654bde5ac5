/// A machine of five states, each of which is a coroutine.
#pragma once

#include <array>
#include <boost/asio.hpp>
#include <functional>
#include <string>

#include "cookbook/print.hpp"
#include "count_states.hpp"
#include "loop_time.hpp"

enum State { start, one, two, three, end };
constexpr std::array state_names = {"Start State", "State 1", "State 2", "State 3", "End State"};

/// The machine as a table: from a state, by bit 0 and by bit 1, to the next state.
constexpr State next_state[][2] = {{two, one}, {three, two}, {one, three}, {one, end}};

/// What the coroutines of one machine have in common.
struct Machine {
  std::function<int()> next_bit;                  // the input
  std::function<void(const std::string&)> print;  // the output, a line at a time
  LoopTime& time;
  int bit = 0;  // the last one that was read
};

/// What the four states have in common. The thread is free for other coroutines while this one sleeps.
inline boost::asio::awaitable<int> read_bit(Machine& machine) {
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  co_return machine.bit;
}

inline boost::asio::awaitable<State> start_state(Machine& machine) {
  const Alive alive;
  co_return co_await read_bit(machine) == 0 ? two : one;
}

inline boost::asio::awaitable<State> state_1(Machine& machine) {
  const Alive alive;
  co_return co_await read_bit(machine) == 0 ? three : two;
}

inline boost::asio::awaitable<State> state_2(Machine& machine) {
  const Alive alive;
  co_return co_await read_bit(machine) == 0 ? one : three;
}

inline boost::asio::awaitable<State> state_3(Machine& machine) {
  const Alive alive;
  co_return co_await read_bit(machine) == 0 ? one : end;
}

inline void print_transition(const Machine& machine, State from, State to) {
  machine.print(fmt::format("{} goes to {}, bit {}", state_names[from], state_names[to], machine.bit));
}

/// Awaits one state after another. A state that has returned the next one has ended, and its memory is free again.
inline boost::asio::awaitable<void> run(Machine& machine) {
  constexpr std::array states = {start_state, state_1, state_2, state_3};
  for (State here = start; here != end;) {
    const State next = co_await states[here](machine);
    print_transition(machine, here, next);
    here = next;
  }
}

/// The naive form, to compare with: any state, which awaits the next one itself instead of returning it.
inline boost::asio::awaitable<void> state_that_awaits_the_next(Machine& machine, State here) {
  const Alive alive;
  if (here == end) co_return;
  const State next = next_state[here][co_await read_bit(machine)];
  co_await state_that_awaits_the_next(machine, next);
}
