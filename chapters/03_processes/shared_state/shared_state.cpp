// Shared dictionary
//
// Ten worker processes write key i and value 2i into one map. The map belongs to another process, the manager, and the
// workers send it requests. A worker that gets a value, adds 1 and sets it makes two requests; another worker can come
// in between, and then one of the two changes is lost. The request "add" makes the change in one step.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/shared_state/shared_state.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_state
// Run:     shared_state [--workers N] [--changes N]

#include <map>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "manager.hpp"

namespace {

/// Starts so many processes, which do work(their channel to the map, their number), and waits for all of them.
template <typename Work>
void run_workers(const Manager& manager, int workers, Work work) {
  std::vector<pid_t> processes;
  for (int i = 0; i < workers; ++i) processes.push_back(cookbook::start_child([&] { work(manager.map(i), i); }));
  for (const pid_t process : processes) cookbook::exit_code_of(process);
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 10, changes = 200;
  cookbook::Options options("Share a dictionary between processes");
  options.add("workers", workers, "processes that write into the map", 1, 64);
  options.add("changes", changes, "changes of one counter that each worker makes", 1, 10'000);
  options.parse(argc, argv);

  const Manager manager(workers + 1);
  const ManagedMap map = manager.map(workers);  // the last channel is this process's own
  run_workers(manager, workers, [](const ManagedMap& channel, int i) {
    channel.set(i, 2 * i);
    cookbook::println("key = {} value = {}", i, channel.get(i));
  });
  std::map<long, long> results, expected;
  for (long i = 0; i < workers; ++i) {
    results[i] = map.get(i);
    expected[i] = 2 * i;
  }
  cookbook::println("Results: {}", results);
  cookbook::Checks checks;
  checks.that("the same pairs as in one process", results == expected);

  constexpr long counter = 1000;  // a key that all workers change
  map.set(counter, 0);
  const long seen = map.get(counter);
  run_workers(manager, 1, [](const ManagedMap& channel, int) {  // between get and set of this process
    channel.set(counter, channel.get(counter) + 1);
  });
  map.set(counter, seen + 1);
  checks.equal("counter after 2 changes, the second made between get and set of the first", map.get(counter), 1L);

  map.set(counter, 0);
  run_workers(manager, workers, [&](const ManagedMap& channel, int) {
    for (int i = 0; i < changes; ++i) channel.add(counter, 1);
  });
  checks.equal(fmt::format("{} changes by add", workers * changes), map.get(counter), 1L * workers * changes);
  return checks.exit_code();
}
