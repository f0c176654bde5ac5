// Select
//
// A process reads from two channels. On one of them values come often, on the other seldom. If it reads from them in
// turn, it waits at one channel while the writer of the other one waits for it. With select it reads from whichever is
// ready, and stops when nothing has come for 50 ticks. The output shows for each value how long its writer had to wait.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_select/csp_select.cpp common/cookbook/*.cpp -lboost_fiber -lboost_context -lfmt -pthread -o csp_select
// Run:     csp_select [--timeout N]

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "select.hpp"

namespace {

using boost::fibers::fiber;
constexpr long never = 1'000;  // ticks; all is over before

/// What was seen of one run.
struct Seen {
  std::string order;                  ///< in which the values were read
  std::map<std::string, long> waits;  ///< of the writers, in ticks; no entry if the value was not read
};

/// Writes one value at each of the given ticks, or later if the one before it has not been read by then.
void write_at(World& world, Channel& to, const std::string& name, const std::vector<long>& ticks, Seen& seen) {
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    world.sleep_until(ticks[i]);
    const long start = world.now;
    if (!to.write(static_cast<int>(i + 1))) return;
    seen.waits[name + std::to_string(i + 1)] = world.now - start;
  }
}

/// Reads from `often` and `seldom` in turn.
void read_in_turn(World& world, Channel& often, Channel& seldom, long timeout, Seen& seen) {
  for (int turn = 0;; ++turn) {
    Channel& next = turn % 2 == 0 ? often : seldom;
    const auto [channel, value] = Channel::select(world, {&next}, world.now + timeout);  // a plain read
    if (channel == Channel::none) break;
    seen.order += (turn % 2 == 0 ? " a" : " b") + std::to_string(value);
  }
}

/// Reads from whichever is ready first.
void read_selected(World& world, Channel& often, Channel& seldom, long timeout, Seen& seen) {
  for (int last = 1;;) {  // as if `seldom` had been read: the first search begins with `often`
    const auto [channel, value] = Channel::select(world, {&often, &seldom}, world.now + timeout, last + 1);
    if (channel == Channel::none) break;
    last = channel;  // next time the other channel comes first, if both are ready
    seen.order += (channel == 0 ? " a" : " b") + std::to_string(value);
  }
}

/// Runs two writers and a reader.
template <typename Read>
Seen run(Read read, long timeout) {
  Seen seen;
  World world;
  Channel often(world), seldom(world);
  fiber a([&] { write_at(world, often, "a", {10, 20, 30, 40, 50}, seen); });
  fiber b([&] { write_at(world, seldom, "b", {40, 80}, seen); });
  fiber reader([&] {
    read(world, often, seldom, timeout, seen);
    seen.order += " timeout at " + std::to_string(world.now);
    often.close();
    seldom.close();
  });
  world.run_until(never);
  for (fiber* process : {&a, &b, &reader}) process->join();
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  long timeout = 50;
  cookbook::Options options("Read from whichever channel is ready first, or give up in time");
  options.add("timeout", timeout, "ticks after which a reader gives up", 1, 200);
  options.parse(argc, argv);

  const Seen in_turn = run(read_in_turn, timeout), selected = run(read_selected, timeout);
  const auto wait = [](const Seen& seen, const std::string& value) {
    const auto found = seen.waits.find(value);
    return found == seen.waits.end() ? "never read" : std::to_string(found->second) + " ticks";
  };
  cookbook::println("value   its writer waits: in turn   with select");
  long longest = 0;
  for (const char* value : {"a1", "a2", "a3", "a4", "a5", "b1", "b2"}) {
    cookbook::println("{}{:>31}{:>14}", value, wait(in_turn, value), wait(selected, value));
  }
  for (const auto& [value, ticks] : selected.waits) longest = std::max(longest, ticks);
  cookbook::println("in turn: {}", in_turn.order.substr(1));
  cookbook::println("selects: {}", selected.order.substr(1));
  cookbook::Checks checks;
  checks.equal("values read by select", selected.waits.size(), 7);
  checks.equal("longest wait of a writer, in ticks", longest, 0);
  checks.equal("b1 is read before a4", selected.order.find("b1") < selected.order.find("a4"), true);
  return checks.exit_code();
}
