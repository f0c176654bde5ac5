/// A machine of five states, each of which is a coroutine.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <cstddef>
#include <functional>
#include <string>

#include "cookbook/print.hpp"
#include "loop_time.hpp"

enum State { start, one, two, three, end };
constexpr std::array state_names = {"Start State", "State 1", "State 2", "State 3", "End State"};

/// The machine as a table: from a state, by bit 0 and by bit 1, to the next state.
constexpr State next_state[][2] = {{two, one}, {three, two}, {one, three}, {one, end}};

/// Bytes that malloc() has given away and not got back. (A sanitizer has a malloc() of its own, and this is 0.)
inline std::size_t bytes_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// What the coroutines of one machine have in common.
struct Machine {
  std::function<int()> next_bit;                  // the input
  std::function<void(const std::string&)> print;  // the output, a line at a time
  LoopTime& time;
  int bit = 0;                   // the last one that was read
  int alive = 0, max_alive = 0;  // states that have begun and not ended: now, and at most
  std::size_t max_bytes = 0;     // on the heap of this process, when a state began
};

/// A local variable of each state, which counts it from its beginning to its end.
struct Alive {
  explicit Alive(Machine& m) : machine(m) {
    machine.max_alive = std::max(machine.max_alive, ++machine.alive);
    machine.max_bytes = std::max(machine.max_bytes, bytes_in_use());
  }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --machine.alive; }
  Machine& machine;
};

inline boost::asio::awaitable<State> start_state(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  co_return machine.bit == 0 ? two : one;
}

inline boost::asio::awaitable<State> state_1(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);  // the thread is free for other coroutines meanwhile
  co_return machine.bit == 0 ? three : two;
}

inline boost::asio::awaitable<State> state_2(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  co_return machine.bit == 0 ? one : three;
}

inline boost::asio::awaitable<State> state_3(Machine& machine) {
  const Alive alive(machine);
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  co_return machine.bit == 0 ? one : end;
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
  const Alive alive(machine);
  if (here == end) co_return;
  machine.bit = machine.next_bit();
  co_await machine.time.sleep(1);
  co_await state_that_awaits_the_next(machine, next_state[here][machine.bit]);
}
