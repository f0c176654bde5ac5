// Coroutine state machine
//
// Five states, each a coroutine. A state draws a bit, sleeps a second without holding up the thread, and tells by the
// bit which state comes next. In the source each state awaits the next one, so each transition leaves a suspended state
// behind, and the path cannot be longer than memory (coroutine_state_machine_deep.cpp). Here a state ends by naming the
// next one, and a short loop awaits that: ten million transitions take no more memory than three.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/coroutine_state_machine/coroutine_state_machine.cpp common/cookbook/*.cpp -lfmt -pthread -o coroutine_state_machine
// Run:     coroutine_state_machine [--bits BITS | --bits random --seed N] [--second-ms N] [--transitions N] [--runs N]

#include <sys/resource.h>

#include <array>
#include <boost/asio.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "loop_time.hpp"
#include "machine.hpp"

namespace asio = boost::asio;

namespace {

asio::awaitable<State> start_state(Machine& machine) {
  const Alive alive(machine);
  machine.say("Start State called\n");
  const int bit = machine.draw();
  if (machine.time) co_await machine.time->sleep(1);
  co_return bit == 0 ? two : one;
}

asio::awaitable<State> state_1(Machine& machine) {
  const Alive alive(machine);
  const int bit = machine.draw();
  if (machine.time) co_await machine.time->sleep(1);
  machine.say("...Evaluating...");
  co_return bit == 0 ? three : two;
}

asio::awaitable<State> state_2(Machine& machine) {
  const Alive alive(machine);
  const int bit = machine.draw();
  if (machine.time) co_await machine.time->sleep(1);
  machine.say("...Evaluating...");
  co_return bit == 0 ? one : three;
}

asio::awaitable<State> state_3(Machine& machine) {
  const Alive alive(machine);
  const int bit = machine.draw();
  if (machine.time) co_await machine.time->sleep(1);
  machine.say("...Evaluating...");
  co_return bit == 0 ? one : end;
}

asio::awaitable<void> end_state(Machine& machine) {
  const Alive alive(machine);
  machine.say("...Stop Computation...");
  co_return;
}

/// Awaits one state after another. A state that names the next one has ended, and its frame is free again.
asio::awaitable<void> run(Machine& machine) {
  constexpr std::array states = {start_state, state_1, state_2, state_3};
  for (State here = start; here != end;) {
    const State to = co_await states[here](machine);
    machine.moved(here, to);
    here = to;
  }
  co_await end_state(machine);
}

/// One bit, as fair as the generator; seeded, so each run of the program has the same.
int random_bit(std::mt19937_64& random) { return static_cast<int>(random() >> 63); }

/// The machine of the source, with its output; `draw` gives the bits. Checks its path.
void run_aloud(cookbook::Checks& checks, const std::function<int()>& draw, std::chrono::milliseconds second) {
  asio::io_context loop(1);
  LoopTime time(loop, second);
  std::string bits;
  std::vector<std::string> lines;
  Machine machine{[&] { return bits += draw() ? '1' : '0', bits.back() - '0'; },
                  [&](State from, State to) { lines.push_back(transition(from, to, bits.back())); }, &time, true};
  cookbook::println("Finite state machine of Asio coroutines");
  asio::co_spawn(loop, run(machine), asio::detached);
  time.run();

  cookbook::println("Resume of the Transition :");
  for (const std::string& line : lines) cookbook::println("{}", line);
  checks.equal("transitions", lines.size(), bits.size());
  checks.that("they are those of the table", lines == by_the_table(bits));
}

/// Runs a machine that neither sleeps nor prints, on a loop of its own.
void run_silently(Machine& machine) {
  asio::io_context loop(1);
  asio::co_spawn(loop, run(machine), asio::detached);
  loop.run();
}

/// With fair bits the visits to States 1 to 3 have mean 6 and variance 22, and a quarter of the runs has only two.
void run_often(cookbook::Checks& checks, std::uint64_t seed, int runs) {
  std::mt19937_64 random(seed);
  long visits = 0, shortest = 0;
  for (int i = 0; i < runs; ++i) {
    long moves = 0;
    Machine machine{[&] { return random_bit(random); }, [&](State, State) { ++moves; }};
    run_silently(machine);
    visits += moves - 1;
    if (moves == 3) ++shortest;
  }
  const double off = 6.5 / std::sqrt(runs);  // six and a half standard errors, over the standard deviation
  checks.within("visits in a random run, on average", static_cast<double>(visits) / runs, 6 - 4.7 * off, 6 + 4.7 * off);
  checks.within("share of runs with two visits", static_cast<double>(shortest) / runs, 0.25 - 0.434 * off,
                0.25 + 0.434 * off);
}

/// To and fro between States 1 and 2, then over State 3 to the end.
void run_long(cookbook::Checks& checks, long transitions) {
  long drawn = 0, moves = 0;
  const auto draw = [&] {
    const long i = drawn++;  // at an odd one the machine is in State 1
    if (i < transitions - 2) return i == 0 || i % 2 == 1 ? 1 : 0;
    return i == transitions - 1 || i % 2 == 0 ? 1 : 0;
  };
  Machine machine{draw, [&](State, State) { ++moves; }};
  const auto peak_memory = [] {
    rusage usage = {};
    check(getrusage(RUSAGE_SELF, &usage), "getrusage");
    return usage.ru_maxrss;
  };
  const long before = peak_memory();
  run_silently(machine);
  checks.equal("transitions of a long run", moves, transitions);
  checks.equal("states alive at once", machine.max_alive, 1);
  checks.that("it took less than 2 MiB of memory", peak_memory() - before < 2048);
}

/// Two machines on one loop, on a virtual clock: one runs while the other sleeps.
void run_two(cookbook::Checks& checks) {
  asio::io_context loop(1);
  LoopTime time(loop, std::chrono::milliseconds(0));
  std::vector<std::string> left;
  const auto machine = [&](char name, const char* bits) {
    return Machine{[bits]() mutable { return *bits++ - '0'; },
                   [&left, name](State from, State) { left.push_back(fmt::format("{}{}", name, int{from})); }, &time};
  };
  Machine a = machine('a', "101"), b = machine('b', "011");
  asio::co_spawn(loop, run(a), asio::detached);
  asio::co_spawn(loop, run(b), asio::detached);
  time.run();
  checks.equal("two machines take turns", fmt::format("{}", fmt::join(left, " ")), "a0 b0 a1 b2 a3 b3");
  checks.equal("seconds for both", time.now(), 3.0);
}

}  // namespace

int main(int argc, char** argv) {
  std::string bits = "1001101000111";
  std::uint64_t seed = 1;
  int second_ms = 20, runs = 100'000;
  long transitions = 10'000'000;
  cookbook::Options options("A state machine whose states are coroutines");
  options.add("bits", bits, "what the states draw, such as 101; or the word random");
  options.add("seed", seed, "of the random bits", 0, 1'000'000'000);
  options.add("second-ms", second_ms, "milliseconds that stand for a second; 0: a virtual clock", 0, 10'000);
  options.add("runs", runs, "random runs for the averages", 1000, 10'000'000);
  options.add("transitions", transitions, "of the long run", 3, 10'000'000'000);
  options.parse(argc, argv);
  if (bits != "random" && by_the_table(bits).empty()) {
    cookbook::complain("--bits: " + bits + " is no path from Start State to End State; 101 is one");
    return 2;
  }

  cookbook::Checks checks;
  std::mt19937_64 random(seed);
  std::size_t drawn = 0;
  run_aloud(
      checks, [&] { return bits == "random" ? random_bit(random) : bits[drawn++] - '0'; },
      std::chrono::milliseconds(second_ms));
  run_two(checks);
  run_often(checks, seed, runs);
  run_long(checks, transitions);
  return checks.exit_code();
}
