// Select
//
// A process reads from two channels. On one of them values come often, on the other seldom. If it reads from them in
// turn, it waits at one channel while the writer of the other one waits for it. With select it reads from whichever is
// ready, and stops when nothing has come for 50 ticks. The output shows at which tick each value was to be read, and at
// which it was.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_select/csp_select.cpp common/cookbook/*.cpp -lboost_fiber -lboost_context -lfmt -pthread -o csp_select
// Run:     csp_select [--timeout N]

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "select.hpp"

namespace {

using boost::fibers::fiber;

/// What was seen of one run.
struct Seen {
  std::string order;  ///< which values were read, and at which ticks
  int values = 0;     ///< that were read
  long longest_wait = 0;

  void note(const std::string& channel, int value, long tick) {
    order += fmt::format("{}{}@{} ", channel, value, tick);
    ++values;
  }
};

/// Reads from a and b in turn.
void read_in_turn(World& world, Channel& a, Channel& b, long timeout, Seen& seen) {
  for (int turn = 0;; ++turn) {
    Channel& next = turn % 2 == 0 ? a : b;
    const auto [channel, value] = Channel::select(world, {&next}, world.now + timeout);  // from one: a plain read
    if (channel == Channel::none) break;
    seen.note(turn % 2 == 0 ? "a" : "b", value, world.now);
  }
}

/// Reads from whichever is ready first.
void read_selected(World& world, Channel& a, Channel& b, long timeout, Seen& seen) {
  for (int first = 0;;) {
    const auto [channel, value] = Channel::select(world, {&a, &b}, world.now + timeout, first);
    if (channel == Channel::none) break;
    seen.note(channel == 0 ? "a" : "b", value, world.now);
    first = channel + 1;  // if both are ready next time, the other channel comes first
  }
}

constexpr long never = 1'000;                                          // ticks; all is over before
const std::vector<long> a_at = {10, 20, 30, 40, 50}, b_at = {40, 80};  // ticks at which the writers write

/// Writes one value at each of the given ticks, or later if the one before it has not been read by then.
void write_at(World& world, Channel& to, const std::vector<long>& ticks, Seen& seen) {
  int number = 0;
  for (const long tick : ticks) {
    world.sleep_until(tick);
    const long start = world.now;
    const bool read = to.write(++number);
    seen.longest_wait = std::max(seen.longest_wait, world.now - start);
    if (!read) return;
  }
}

/// Runs two writers and a reader, which closes the channels when it gives up.
template <typename Read>
Seen run(Read read, long timeout) {
  Seen seen;
  World world;
  Channel a(world), b(world);
  fiber writer_of_a([&] { write_at(world, a, a_at, seen); });
  fiber writer_of_b([&] { write_at(world, b, b_at, seen); });
  fiber reader([&] {
    read(world, a, b, timeout, seen);
    seen.order += "timeout at " + std::to_string(world.now);
    a.close();
    b.close();
  });
  world.run_until(never);
  for (fiber* process : {&writer_of_a, &writer_of_b, &reader}) process->join();
  return seen;
}

/// When each value would be read if no writer ever waited.
std::string planned() {
  std::multimap<long, std::string> values;
  for (std::size_t i = 0; i < a_at.size(); ++i) values.emplace(a_at[i], fmt::format("a{}", i + 1));
  for (std::size_t i = 0; i < b_at.size(); ++i) values.emplace(b_at[i], fmt::format("b{}", i + 1));
  std::string order;
  for (const auto& [tick, value] : values) order += fmt::format(" {}@{}", value, tick);
  return order;
}

}  // namespace

int main(int argc, char** argv) {
  long timeout = 50;
  cookbook::Options options("Read from whichever channel is ready first, or give up in time");
  options.add("timeout", timeout, "ticks after which a reader gives up", 1, 200);
  options.parse(argc, argv);

  const Seen in_turn = run(read_in_turn, timeout), selected = run(read_selected, timeout);
  cookbook::println("planned:{}", planned());
  cookbook::println("in turn: {}", in_turn.order);
  cookbook::println("select:  {}", selected.order);
  cookbook::println("values read: {} in turn, {} with select", in_turn.values, selected.values);
  cookbook::println("longest wait of a writer: {} ticks in turn, {} with select", in_turn.longest_wait,
                    selected.longest_wait);
  cookbook::Checks checks;
  checks.equal("values read by select", selected.values, 7);
  checks.equal("b1 is read before a4", selected.order.find("b1") < selected.order.find("a4"), true);
  return checks.exit_code();
}
