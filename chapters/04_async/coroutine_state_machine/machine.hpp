/// The state machine of coroutine_state_machine.cpp as a table, and what its coroutines share.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cookbook/print.hpp"
#include "loop_time.hpp"

enum State { start, one, two, three, end };
constexpr std::array names = {"Start State", "State 1", "State 2", "State 3", "End State"};

/// The machine as a table, without coroutines: next[state][bit]. What the coroutines do is checked against it.
constexpr State next[][2] = {{two, one}, {three, two}, {one, three}, {one, end}};

inline std::string transition(State from, State to, char bit) {
  return fmt::format("{} calling {} with transition value = {}", names[from], names[to], bit);
}

/// The transitions that the table gives for these bits; none if they do not lead to End State, or go on behind it.
inline std::vector<std::string> by_the_table(const std::string& bits) {
  std::vector<std::string> lines;
  State here = start;
  for (const char c : bits) {
    if (here == end || (c != '0' && c != '1')) return {};
    const State to = next[here][c - '0'];
    lines.push_back(transition(here, to, c));
    here = to;
  }
  return here == end ? lines : std::vector<std::string>{};
}

/// What the coroutines of one machine have in common.
struct Machine {
  std::function<int()> draw;                ///< gives the next bit
  std::function<void(State, State)> moved;  ///< called at each transition: from where, to where
  LoopTime* time = nullptr;                 ///< none: the states do not sleep
  bool aloud = false;
  int alive = 0;  ///< state coroutines that have begun and not ended
  int max_alive = 0;

  void say(const char* text) const {
    if (aloud) cookbook::println("{}", text);
  }
};

/// Stands in each state, to count it while it is alive.
struct Alive {
  explicit Alive(Machine& m) : machine(m) { machine.max_alive = std::max(machine.max_alive, ++machine.alive); }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --machine.alive; }
  Machine& machine;
};
