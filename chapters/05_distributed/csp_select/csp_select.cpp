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
#include <functional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "select.hpp"

namespace {

using boost::fibers::fiber;
constexpr long never = 1'000;                                                   // ticks; all is over before
const std::vector<long> often_at = {10, 20, 30, 40, 50}, seldom_at = {40, 80};  // ticks at which the writers write

/// What was seen of one run.
struct Seen {
  std::string order;        ///< which values were read, and at which ticks
  std::vector<long> waits;  ///< of the writers whose values were read, in ticks

  long longest_wait() const { return waits.empty() ? 0 : *std::max_element(waits.begin(), waits.end()); }
  void note(const std::string& channel, int value, long tick) {
    order += fmt::format(" {}{}@{}", channel, value, tick);
  }
};

/// Writes one value at each of the given ticks, or later if the one before it has not been read by then.
void write_at(World& world, Channel& to, const std::vector<long>& ticks, Seen& seen) {
  int number = 0;
  for (const long tick : ticks) {
    world.sleep_until(tick);
    const long start = world.now;
    if (!to.write(++number)) return;
    seen.waits.push_back(world.now - start);
  }
}

/// Reads from `often` and `seldom` in turn.
void read_in_turn(World& world, Channel& often, Channel& seldom, long timeout, Seen& seen) {
  for (int turn = 0;; ++turn) {
    Channel& next = turn % 2 == 0 ? often : seldom;
    const auto [channel, value] = Channel::select(world, {&next}, world.now + timeout);  // a plain read
    if (channel == Channel::none) break;
    seen.note(turn % 2 == 0 ? "a" : "b", value, world.now);
  }
}

/// Reads from whichever is ready first.
void read_selected(World& world, Channel& often, Channel& seldom, long timeout, Seen& seen) {
  for (int last = 1;;) {  // as if `seldom` had been read: the search begins behind it, again at `often`
    const auto [channel, value] = Channel::select(world, {&often, &seldom}, world.now + timeout, last + 1);
    if (channel == Channel::none) break;
    last = channel;  // next time the other channel comes first, if both are ready
    seen.note(channel == 0 ? "a" : "b", value, world.now);
  }
}

/// When each value would be read if no writer ever waited.
Seen planned() {
  Seen seen;
  for (long tick = 0; tick < never; ++tick) {
    const auto add = [&](const std::string& channel, const std::vector<long>& ticks) {
      const auto place = std::find(ticks.begin(), ticks.end(), tick);
      if (place != ticks.end()) seen.note(channel, static_cast<int>(place - ticks.begin()) + 1, tick);
    };
    add("b", seldom_at);
    add("a", often_at);
  }
  return seen;
}

/// Runs two writers and a reader.
template <typename Read>
Seen run(Read read, long timeout) {
  Seen seen;
  World world;
  Channel often(world), seldom(world);
  fiber a([&] { write_at(world, often, often_at, seen); });
  fiber b([&] { write_at(world, seldom, seldom_at, seen); });
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
  cookbook::println("planned: {}", planned().order.substr(1));
  cookbook::println("in turn: {}", in_turn.order.substr(1));
  cookbook::println("select:  {}", selected.order.substr(1));
  cookbook::println("longest wait until a value was read: {} ticks in turn, {} with select", in_turn.longest_wait(),
                    selected.longest_wait());
  cookbook::Checks checks;
  checks.equal("values read by select", selected.waits.size(), 7);
  checks.equal("b1 is read before a4", selected.order.find("b1") < selected.order.find("a4"), true);
  return checks.exit_code();
}
