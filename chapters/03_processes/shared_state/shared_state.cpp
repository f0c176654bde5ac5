// Shared dictionary
//
// Ten worker processes write key i and value 2i into one map, in two ways. A manager process owns the map, and the
// workers ask it by messages; or the map lies in memory that all share, and each changes it under a lock. The first
// costs a message there and back for each operation, the second a lock. In both, "get, add 1, set" by several processes
// loses changes; one request to the manager, or one hold of the lock, loses none.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/shared_state/shared_state.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_state
// Run:     shared_state [--workers N] [--changes N] [--operations N]

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "manager.hpp"          // Manager, ManagedMap
#include "operation_costs.hpp"  // time_both()
#include "shared_map.hpp"       // SharedMap
#include "shared_memory.hpp"    // Shared
#include "workers.hpp"          // run_workers()

namespace {

constexpr long counter = 1000;  // a key that no worker has for its own

/// Whether work() throws.
template <typename Work>
bool is_rejected(Work work) {
  try {
    work();
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

/// What holds for both forms. `open` gives a process its access to the map: a connection, or the map itself.
template <typename Open>
void share_a_map(const std::string& form, int workers, long changes, bool aloud, Open open, cookbook::Checks& checks) {
  const std::vector<int> codes = run_workers(workers, [&](long i) {
    auto&& map = open();
    map.set(i, 2 * i);
    if (aloud) cookbook::println("key = {} value = {}", i, map.get(i));
  });
  auto&& map = open();
  const std::map<long, long> results = map.items();  // in the order of the keys, whoever was first
  cookbook::println("Results: {}", results);

  std::map<long, long> expected;
  long sum = 0;
  for (long i = 0; i < workers; ++i) expected[i] = 2 * i;
  for (const auto& [key, value] : results) sum += value;
  checks.equal(form + "workers that have ended well", std::count(codes.begin(), codes.end(), 0), workers);
  checks.that(form + "the same pairs as in one process", results == expected);
  checks.equal(form + "sum of the values", sum, workers * (workers - 1L));
  checks.that(form + "a key that nobody has set is rejected", is_rejected([&] { map.get(counter); }));

  // A get and its set are two operations. Here another process does both of its own in between.
  map.set(counter, 0);
  const long seen = map.get(counter);
  run_workers(1, [&](int) {
    auto&& other = open();
    other.set(counter, other.get(counter) + 1);
  });
  map.set(counter, seen + 1);
  checks.equal(form + "2 changes by get and set, one between the two steps of the other", map.get(counter), 1L);

  const long all = workers * changes;
  map.set(counter, 0);
  run_workers(workers, [&](int) {
    auto&& own = open();
    for (long i = 0; i < changes; ++i) own.set(counter, own.get(counter) + 1);
  });
  checks.within(form + fmt::format("{} changes by get and set", all), map.get(counter), 1, all);

  map.set(counter, 0);
  run_workers(workers, [&](int) {
    auto&& own = open();
    for (long i = 0; i < changes; ++i) own.add(counter, 1);
  });
  checks.equal(form + fmt::format("{} changes by add", all), map.get(counter), all);
}

/// How many of a process's pieces of memory it shares with others and may write.
int shared_pieces(pid_t process) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  int pieces = 0;
  for (std::string line; std::getline(maps, line);) pieces += line.find(" rw-s ") != std::string::npos;
  return pieces;
}

void by_manager(int workers, long changes, cookbook::Checks& checks) {
  Manager manager;
  const auto open = [&] { return manager.connect(); };
  share_a_map("manager: ", workers, changes, true, open, checks);

  const std::vector<int> elsewhere = run_workers(workers, [&](int) {
    const pid_t owner = manager.connect().owner();
    return owner == manager.process() && owner != getpid() ? 0 : 1;
  });
  checks.equal("manager: workers that find the map in its process", std::count(elsewhere.begin(), elsewhere.end(), 0),
               workers);
  checks.equal("manager: pieces of memory that it shares and may write", shared_pieces(manager.process()), 0);

  ManagedMap map = manager.connect();
  map.set(counter, 6);
  long copy = map.get(counter);
  copy += 100;
  const long before = map.get(counter);
  map.set(counter, copy);
  checks.equal("manager: a value changed after get; before and after set", std::vector{before, map.get(counter)},
               {6L, 106L});

  run_workers(1, [&](int) {
    const ManagedMap connected = manager.connect();
    raise(SIGKILL);
  });
  checks.equal("manager: the value when a worker has been killed", map.get(counter), 106L);
  checks.equal("manager: its exit code", manager.end(), 0);
  checks.that("manager: a request after its end is rejected", is_rejected([&] { map.get(counter); }));
}

void in_shared_memory(int workers, long changes, cookbook::Checks& checks) {
  const Shared<SharedMap> map;
  const auto open = [&]() -> SharedMap& { return *map; };
  share_a_map("shared memory: ", workers, 100 * changes, false, open, checks);

  map->set(counter, 6);
  run_workers(1, [&](int) { map->change(counter, [](long& value) { value += 100; }); });
  checks.equal("shared memory: a value that another process has changed in place", map->get(counter), 106L);

  run_workers(1, [&](int) { map->look(counter, [](const long&) { raise(SIGKILL); }); });
  checks.equal("shared memory: the value when a reader has been killed with the lock", map->get(counter), 106L);
  run_workers(1, [&](int) { map->change(counter, [](long&) { raise(SIGKILL); }); });
  checks.that("shared memory: rejected when a worker has been killed within a change",
              is_rejected([&] { map->get(counter); }) && is_rejected([&] { map->items(); }));

  const Shared<SharedMap> small;
  const auto fill = [&] {
    for (long key = 0; key < 10'000; ++key) small->set(key, 2 * key);
  };
  checks.that("shared memory: a key too many is rejected, the others stay", is_rejected(fill) && small->get(9) == 18);
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 10;
  long changes = 200;
  int operations = 800;
  cookbook::Options options("Share a map between processes: by a manager process, and in shared memory");
  options.add("workers", workers, "processes that write into the map", 1, 64);
  options.add("changes", changes, "changes of one counter that each makes, 100 times as many in shared memory", 1,
              10'000);
  options.add("operations", operations, "operations to measure, 500 times as many in shared memory", 4, 100'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  by_manager(workers, changes, checks);
  in_shared_memory(workers, changes, checks);
  time_both(operations, checks);
  return checks.exit_code();
}
