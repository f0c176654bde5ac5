// Shared dictionary
//
// Ten worker processes count in one map. The map belongs to another process, the manager, and the workers send it
// requests. A worker that gets a value and sets it to 1 more makes two requests, and
// another worker can come in between: changes are lost. The request "add" makes the change in one step. The last lines
// show, step by step, how one change gets lost.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/shared_state/shared_state.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_state
// Run:     shared_state [--workers N] [--changes N]

#include <cstdlib>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "manager.hpp"

namespace {

constexpr long counter = 1;  // a key that all workers change

// Two ways to add 1 to the counter.
void get_and_set(const ManagedMap& map) { map.set(counter, map.get(counter) + 1); }
void add(const ManagedMap& map) { map.add(counter, 1); }

/// Starts so many processes, which do work(their channel to the map), and waits for all of them. If one
/// fails, the program ends (it has said why).
template <typename Work>
void run_workers(const Manager& manager, int workers, Work work) {
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) processes.push_back(cookbook::start_child([&] { work(manager.map(i)); }));
  bool all_worked = true;
  for (const pid_t process : processes) all_worked &= cookbook::exit_code_of(process) == 0;
  if (!all_worked) std::exit(3);
}

/// Lets so many workers make so many changes each. Prints and returns how many of them the counter has at the end.
long print_row(std::string_view name, const Manager& manager, int workers, int changes,
               void (*change)(const ManagedMap&)) {
  const ManagedMap map = manager.map(workers);  // the last channel is this process's own
  map.set(counter, 0);
  const cookbook::Stopwatch watch;
  run_workers(manager, workers, [&](const ManagedMap& channel) {
    for (int i = 0; i < changes; ++i) change(channel);
  });
  const double seconds = watch.seconds();
  const long counted = map.get(counter);
  cookbook::println("{:<31}{:8}{:10.1f} us", name, counted, seconds / workers / changes * 1e6);
  return counted;
}

/// One change by each of two processes, in the order in which the first of them loses that of the second.
void lose_one(const Manager& manager, const ManagedMap& map) {
  map.set(counter, 0);
  const long seen = map.get(counter);
  cookbook::println("A gets {}", seen);
  run_workers(manager, 1, [](const ManagedMap& channel) {  // between get and set of this process
    const long seen_by_b = channel.get(counter);
    cookbook::println("  B gets {}", seen_by_b);
    channel.set(counter, seen_by_b + 1);
    cookbook::println("  B sets {}", channel.get(counter));
  });
  map.set(counter, seen + 1);
  cookbook::println("A sets {}", map.get(counter));
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 10, changes = 200;
  cookbook::Options options("Share a dictionary between processes");
  options.add("workers", workers, "processes that count in the map", 1, 64);
  options.add("changes", changes, "changes of one counter that each worker makes", 1, 10'000);
  options.parse(argc, argv);

  const Manager manager(workers + 1);
  const ManagedMap map = manager.map(workers);
  cookbook::println("{:<31} ends at   one change", fmt::format("{} workers, {} changes each", workers, changes));
  print_row("get, then set", manager, workers, changes, get_and_set);  // all of them only by luck
  const long added = print_row("add", manager, workers, changes, add);
  lose_one(manager, map);

  cookbook::Checks checks;
  checks.equal("changes that add has lost", 1L * workers * changes - added, 0L);
  checks.equal("counter after A and B, one change each", map.get(counter), 1L);
  return checks.exit_code();
}
